import { expect, test } from "vitest";
import type { Device, RooflinePoint } from "../../src/api/types.gen";
import { axesOf, decadesOf, dotsOf, figureOf, lackingOf, roofPath, summary } from "../../src/views/kernel/roofline";

const DEVICE: Device = {
  chip: null,
  cube_cores: 24,
  vector_cores: 48,
  clock_mhz: 1800,
  peak_flops: 1e14,
  peak_origin: "recorded",
  bandwidth: 1e12,
  bandwidth_origin: "assumed",
};
const POINT: RooflinePoint = {
  name: "m",
  type: "MatMulV3",
  input_shapes: "2,2;2,2",
  input_types: "BF16;BF16",
  bound: "Cube",
  calls: 2,
  total_ns: 2_000_000,
  gflops: 50,
  least_bytes: 1e9,
  mfu: 0.5,
};
const FRAME = { left: 0, right: 300, top: 0, bottom: 200 };

test("a point: FLOPs per byte, and per second of one call", () => {
  const [dot] = dotsOf([POINT, { ...POINT, least_bytes: 0 }]);
  expect([dot?.intensity, dot?.rate]).toEqual([50, 5e13]);
  expect(dotsOf([POINT, { ...POINT, least_bytes: 0 }])).toHaveLength(1);
});

test("axes hold points, peak and ridge in whole decades", () => {
  const { x, y } = axesOf(dotsOf([POINT, { ...POINT, gflops: 0.5 }]), DEVICE, FRAME);
  expect(decadesOf(x)).toEqual([-1, 0, 1, 2]);
  expect(decadesOf(y)).toEqual([11, 12, 13, 14]);
});

test("the roof rises with the bandwidth up to the ridge; without a bandwidth or a peak it is absent", () => {
  const axes = axesOf(dotsOf([POINT, { ...POINT, gflops: 0.5 }]), DEVICE, FRAME);
  expect(roofPath(axes, DEVICE)).toBe("M0,200L300,0H300");
  expect(roofPath(axes, { ...DEVICE, bandwidth: 1e13 })).toBe("M0,133.33L200,0H300");
  expect(roofPath(axes, { ...DEVICE, bandwidth: null })).toBe("");
  expect(roofPath(axes, { ...DEVICE, peak_flops: null })).toBe("");
});

test("a roof needs a peak and a bandwidth", () => {
  const lacking = (changes: Partial<Device>) => lackingOf({ ...DEVICE, ...changes });
  expect([lacking({}), lacking({ bandwidth: null }), lacking({ peak_flops: null })]).toEqual([
    null,
    "bandwidth",
    "peak",
  ]);
  expect(lacking({ bandwidth: null, peak_flops: null })).toBe("both");
});

test("the MFU of the step is a lower bound where the FLOPs of some kernels are unknown", () => {
  const steps = [{ step: "1", gflops: 1, mfu: 0.049 }];
  const roofline = { device: DEVICE, known_share: 0.251, mfu: 0.69, steps, points: [], kinds: 0 };
  expect(summary(roofline, "step")).toContain("of the step ≥ 4.9 %");
  expect(summary(roofline, "step")).toContain("MFU of these kernels 69.0 %");
  expect(summary({ ...roofline, known_share: 1 }, "step")).toContain("of the step 4.9 %");
});

test.each([
  ["300", "300"],
  [" 1.5e2 ", "150"],
  ["0", null],
  ["-3", null],
  ["x", null],
  ["", null],
])("typed peak %j", (text, expected) => {
  expect(figureOf(text)).toBe(expected);
});
