"""Remembers which tests a run skipped, so that another can run these alone once what they need is there: `--skipped`.

Without torch, Slurm, a compiler, a browser or the real stack some tests are skipped, each with its reason. Where these
are installed later, `pytest --skipped` collects the files of those tests and runs nothing else.
"""

from __future__ import annotations

import pytest

_KEY = "doctor/skipped"


class SkippedTests:
    """The plugin: takes down what is skipped, and where `--skipped` is given selects what the run before took down."""

    def __init__(self, config: pytest.Config) -> None:
        """Read what the run before skipped; collect nothing but its files where that is asked for."""
        self._config = config
        self._wanted = bool(config.getoption("skipped"))
        self._skipped: set[str] = set()
        self._cache: pytest.Cache | None = getattr(config, "cache", None)  # none with `-p no:cacheprovider`
        self._before: set[str] = set(self._cache.get(_KEY, [])) if self._cache is not None else set()
        if self._wanted and not _is_worker(config):
            files = {each.partition("::")[0] for each in self._before}
            config.args[:] = sorted(str(config.rootpath / each) for each in files if (config.rootpath / each).exists())
            if not config.args:
                pytest.exit("no test was skipped by the run before", returncode=0)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Leave out what the run before did not skip; of a module that was skipped whole, all is wanted."""
        if not self._wanted:
            return
        wanted = [each for each in items if self._before.intersection(node.nodeid for node in each.listchain())]
        left_out = [each for each in items if each not in set(wanted)]
        items[:] = wanted
        self._config.hook.pytest_deselected(items=left_out)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Take down a module that is skipped as a whole."""
        if report.skipped:
            self._skipped.add(report.nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take down a skipped test."""
        if report.skipped and not hasattr(report, "wasxfail"):
            self._skipped.add(report.nodeid)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: object) -> None:
        """Take over what a worker skipped: xdist passes on tests, and no modules that were skipped as a whole."""
        self._skipped.update(getattr(node, "workeroutput", {}).get(_KEY, []))

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Keep what was skipped; a run of skipped tests leaves the list as it is."""
        if _is_worker(self._config):
            session.config.workeroutput[_KEY] = sorted(self._skipped)  # type: ignore[attr-defined]
        elif not self._wanted and not self._config.option.collectonly and self._cache is not None:
            self._cache.set(_KEY, sorted(self._skipped))


def _is_worker(config: pytest.Config) -> bool:
    return hasattr(config, "workerinput")
