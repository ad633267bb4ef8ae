"""Files that get each sample."""

from __future__ import annotations

import pathlib
import threading

from nvitop.exporter.pages import BackgroundSinks, TextFile
from nvitop.sampling.types import Sample
from tests.exporter.serving import make_site
from tests.waiting import PATIENCE, wait_until


class FakeSink:
    """Keeps samples, and fails when it gets the first two."""

    def __init__(self, *, fails: bool) -> None:
        self.samples: list[Sample] = []
        self.is_closed = threading.Event()
        self._fails = fails

    def write(self, sample: Sample) -> None:
        self.samples.append(sample)
        if self._fails and len(self.samples) < 3:
            raise ValueError('broken')

    def close(self) -> None:
        self.is_closed.set()


def test_sink_that_fails_gets_the_next_sample_and_so_do_others() -> None:
    problems: list[str] = []
    first, second = FakeSink(fails=True), FakeSink(fails=False)
    sinks = BackgroundSinks([first, second], problems.append)
    samples = [Sample(float(number)) for number in range(4)]
    for sample in samples:
        sinks.write(sample)
    sinks.close()
    assert first.is_closed.wait(PATIENCE)
    assert second.is_closed.wait(PATIENCE)
    assert first.samples == second.samples == samples
    assert problems == ['FakeSink failed: ValueError: broken']


def test_text_file_is_written_again_once_there_is_a_directory(tmp_path: pathlib.Path) -> None:
    _, pages = make_site()
    directory = tmp_path / 'textfiles'
    directory.mkdir()
    path = directory / 'nvitop.prom'
    problems: list[str] = []
    sinks = BackgroundSinks([TextFile(str(path), pages)], problems.append)
    path.unlink()
    directory.rmdir()
    for _ in range(2):
        sinks.write(Sample(1.0))
    wait_until(lambda: problems, 'a problem')
    directory.mkdir()
    sinks.write(Sample(2.0))
    wait_until(path.exists, 'the file')
    assert b'nvitop_build_info' in path.read_bytes()
    assert problems == [f'cannot write {path}: No such file or directory']
    sinks.close()
    assert not path.exists()
