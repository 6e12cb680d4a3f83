"""What a capture keeps of a run: the halves that its activities and its level record, and what its switches sample.
Source: docs/facts/ascend_pt.md, Files and when they are written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tb_npu_plugin.capture.simulation.links import LinkMeters
from tb_npu_plugin.capture.simulation.records import Process, Segment
from tb_npu_plugin.capture.writers.built_in_marks import COMMUNICATION, DATALOADER, BuiltInMarks
from tb_npu_plugin.capture.writers.dialect import Options


def recording(process: Process, options: Options) -> Callable[[Segment], Segment]:
    """Takes out of each segment what was not recorded. Without the host there are no step marks: `process` says so."""
    process.marks = process.marks and options.cpu
    marked = BuiltInMarks(COMMUNICATION in options.built_in_marks, DATALOADER in options.built_in_marks)

    def seen(segment: Segment) -> Segment:
        if options.built_in_marks:
            segment = marked(segment)
        if not options.device:
            # Level_none is for marks: they are known on the host
            marks = [replace(mark, task=None) for mark in segment.marks] if options.npu else []
            segment = replace(segment, cann=[], tasks=[], comm=[], samples=[], modules=[], marks=marks)
        if not options.cpu:
            segment = replace(segment, step=None, ops=[], python=[], queue=[], gc=[])
        return segment

    return seen


def with_links(
    record: Callable[[Segment], Segment], process: Process, options: Options
) -> Callable[[Segment], Segment]:
    """`record`, and the samples of the links where they are switched on: at each level, of all that ran."""
    if not options.npu or not (options.sys_io or options.sys_interconnection):
        return record
    meters = LinkMeters(process, options.sys_io, options.sys_interconnection)

    def sampled(segment: Segment) -> Segment:
        return replace(record(segment), links=meters.take(segment))

    return sampled
