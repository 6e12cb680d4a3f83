import { describe, expect, test } from "vitest";
import * as format from "../../src/base/format";

const THIN = "\u202f";

describe("figures", () => {
  test("thousands are apart, the sign is a minus", () => {
    expect(format.fixedDecimals(1234567.891, 3)).toBe(`1${THIN}234${THIN}567.891`);
    expect(format.fixedDecimals(-1234, 0)).toBe(`−1${THIN}234`);
    expect(format.fixedDecimals(999, 0)).toBe("999");
  });

  test("unknown is a dash, never 0", () => {
    for (const value of [null, undefined, Number.NaN, Number.POSITIVE_INFINITY])
      expect(format.fixedDecimals(value, 2)).toBe("–");
    expect(format.duration(null)).toBe("–");
    expect(format.shareOf(1, 0)).toBe("–");
  });

  test("no negative zero, no exponent", () => {
    expect(format.fixedDecimals(-0, 2)).toBe("0.00");
    expect(format.fixedDecimals(-0.0001, 2)).toBe("0.00");
    expect(format.decimal(1e-7)).toBe("0");
    expect(format.signedDecimals(-1e-9)).toBe("0.000");
    expect(format.signedDecimals(0)).toBe("0.000");
    expect(format.signedDecimals(0.4321)).toBe("+0.432");
  });

  test("a part that is there is not 0 %", () => {
    expect(format.percentOfRatio(0.0001)).toBe("< 0.1 %");
    expect(format.percentOfRatio(0)).toBe("0.0 %");
    expect(format.percentOfRatio(0.7146)).toBe("71.5 %");
  });
});

describe("units", () => {
  test("durations take the unit that suits them", () => {
    expect(format.duration(999)).toBe("999 ns");
    expect(format.duration(1000)).toBe("1.000 µs");
    expect(format.duration(136_581_000, 2)).toBe("136.58 ms");
    expect(format.duration(2_500_000_000, 1)).toBe("2.5 s");
    expect(format.duration(-4_670_000, 2)).toBe("−4.67 ms");
  });

  test("bytes are binary and say so", () => {
    expect(format.bytes(1023)).toBe("1023 B".replace("1023", `1${THIN}023`));
    expect(format.bytes(1024 ** 2 * 1.5)).toBe("1.50 MiB");
    expect(format.traffic(427_596_000)).toBe("427.60 MB");
    expect(format.traffic(999)).toBe("999 B");
    expect(format.exactBytes(1048577)).toBe(`1${THIN}048${THIN}577 B`);
  });

  test("a column has the unit of its largest value", () => {
    expect(format.columnUnit(format.TIME_UNITS, [12, null, 1_959_077]).name).toBe("ms");
    expect(format.columnUnit(format.TIME_UNITS, []).name).toBe("ns");
  });

  test("decimals: as few as write all values exactly, three at most", () => {
    expect(format.columnDecimals([653_020, 24_970], 1e3)).toBe(2);
    expect(format.columnDecimals([653_026], 1e3)).toBe(3);
    expect(format.columnDecimals([5000, 1000], 1e3)).toBe(0);
    expect(format.columnDecimals([1_234_567], 1e6)).toBe(3);
    expect(format.columnDecimals([8_873_756], 1e3)).toBe(3);
  });
});

test("absolute times keep every digit", () => {
  expect(format.absoluteNs("1736408883573957920", 1)).toBe("1736408883573957921");
  expect(format.absoluteNs("1736408883573957920", null)).toBeNull();
  expect(format.dateAndTime("not a time", 0)).toBe("–");
  expect(format.dateAndTime("1736408883573957920", 480)).toBe("2025-01-09 15:48:03 UTC+8");
  expect(format.dateAndTime("1736408883573957920", -210)).toBe("2025-01-09 04:18:03 UTC−3:30");
  expect(format.dateAndTime("1736408883573957920", 0)).toBe("2025-01-09 07:48:03 UTC");
});

test("time left is coarse", () => {
  expect(format.timeLeft(3.4)).toBe("3 s");
  expect(format.timeLeft(125)).toBe("2 min 05 s");
  expect(format.timeLeft(4320)).toBe("1 h 12 min");
});

test("what is there but rounds to nothing is told from nothing", () => {
  expect([0, 0.004, 0.006, null].map((value) => format.nonZeroDecimals(value, 2))).toEqual([
    "0.00",
    "< 0.01",
    "0.01",
    "–",
  ]);
  expect(format.nonZeroDecimals(0.4, 0)).toBe("< 1");
});

test("differences of durations have a sign and a unit", () => {
  expect([-5_600_000, 432_000, 0, 7, null].map(format.signedDuration)).toEqual([
    "−5.60 ms",
    "+432.00 µs",
    "0 ns",
    "+7 ns",
    "–",
  ]);
});

test("a few large figures leave the others their digits", () => {
  const unit = (values: (number | null)[]) => format.tableUnit(format.TIME_UNITS, values).name;
  expect(unit([1_738_000, 2_000, 1_900, 0, null])).toBe("µs");
  expect(unit([1_738_000, 870_000, 2_000])).toBe("ms");
  expect(unit([990_000_000_000, 2_000, 1_900])).toBe("s"); // 990 000 000 ms would be no help
  expect(unit([0, null])).toBe("ns");
});
