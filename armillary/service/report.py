"""Guru meditation report of a running process on SIGUSR2: threads, configuration."""

import os
from typing import Any

from oslo_config import cfg
from oslo_reports import guru_meditation_report
from oslo_utils import strutils

from armillary.logs.masking import mask_passwords
from armillary.version import VersionInfo


class Report(guru_meditation_report.TextGuruMeditation):
    """oslo.reports' text report, with passwords masked, in one file per process."""

    def run(self) -> str:
        return mask_passwords(strutils.mask_password(super().run()))

    @classmethod
    def handle_signal(
        cls, version: Any, service_name: str | None, log_dir: str | None, frame: Any
    ) -> None:
        super().handle_signal(version, f"{service_name}-{os.getpid()}", log_dir, frame)


def install(conf: cfg.ConfigOpts, binary: str) -> None:
    """Write a report on SIGUSR2, to standard error or ``[oslo_reports] log_dir``.

    Must be called in the main thread; forked processes inherit it. With ``file_event_handler`` set
    no signal is used: see ``watch_file``.
    """
    if not conf.oslo_reports.file_event_handler:
        Report.setup_autorun(VersionInfo(), service_name=binary, conf=conf)


def watch_file(conf: cfg.ConfigOpts, binary: str) -> None:
    """Write a report when ``[oslo_reports] file_event_handler`` is touched, if it is set."""
    if conf.oslo_reports.file_event_handler:
        Report.setup_autorun(VersionInfo(), service_name=binary, conf=conf, setup_signal=False)
