"""Worker processes of one service, on oslo.service's launcher for both concurrency backends."""

from typing import Any

from oslo_config import cfg

from armillary import concurrency
from armillary.conf import loader
from armillary.metrics import service_figures, tracing
from armillary.service import report
from armillary.service.managed import Factory, ManagedService, Manager
from armillary.service.supervisor import Supervisor
from armillary.service.systemd import Notifier
from armillary.service.worker_count import worker_count
from armillary.service.worker_states import WorkerStates


def launch(conf: cfg.ConfigOpts, binary: str, factory: Factory, workers: int | None = None) -> int:
    """Run worker processes, each with its own manager, until SIGTERM; return the exit code.

    ``workers`` defaults as ``worker_count`` says. ``factory`` is called in each worker, so nothing
    it makes is shared. The parent replaces a worker that dies. SIGTERM drains within
    ``graceful_shutdown_timeout``, SIGINT ends immediately, SIGHUP reloads mutable options, SIGUSR2
    writes a report. If the service cannot start, one line is logged, and the exit code is 78 for a
    configuration error, else 1.
    """
    concurrency.init_backend()
    from oslo_service import service as oslo_service  # uses the backend that is selected by now

    count = worker_count(conf, workers)
    worker_states = WorkerStates(count)
    supervisor = Supervisor(worker_states, Notifier.from_environment())
    report.install(conf, binary)
    launcher = oslo_service.ProcessLauncher(_LauncherConf(conf), restart_method="mutate")
    for index in range(count):  # one service per worker, so that each has its own slot
        launcher.launch_service(
            ManagedService(
                conf,
                binary,
                _in_worker(conf, binary, factory, index),
                supervisor,
                worker_states.slot(index),
            )
        )
    if concurrency.backend() == concurrency.THREADING:
        _hook_into_cotyledon(launcher, supervisor)
    supervisor.start()
    try:
        launcher.wait()
    except SystemExit as error:  # how cotyledon ends
        return worker_states.failed_start_code or (error.code if isinstance(error.code, int) else 0)
    finally:
        supervisor.end()
    return worker_states.failed_start_code


class _LauncherConf:
    """The configuration as seen by the launcher: on SIGHUP an invalid file keeps the old values."""

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self._conf = conf

    def __getattr__(self, name: str) -> Any:
        return getattr(self._conf, name)

    def mutate_config_files(self) -> None:
        loader.mutate(self._conf)


def _in_worker(conf: cfg.ConfigOpts, binary: str, factory: Factory, index: int) -> Factory:
    """Return a factory that first sets up what each worker process needs once."""

    def make() -> Manager:
        report.watch_file(conf, binary)
        from armillary.metrics import metrics_server

        metrics_server.serve(conf, binary, index)
        service_figures.set_worker(index)
        tracing.start(conf, binary)
        return factory()

    return make


def _hook_into_cotyledon(launcher: Any, supervisor: Supervisor) -> None:
    """Reload workers instead of restarting them, and notify the supervisor.

    oslo.service offers neither on its threading backend, hence the access to its internals.
    """

    def make_reloadable(_service_id: Any, _worker_id: int, wrapper: Any) -> None:
        service: ManagedService = wrapper.service_instance

        def reload() -> None:
            launcher.conf.mutate_config_files()
            service.reset()

        wrapper.reload = reload

    launcher._manager.register_hooks(
        on_new_worker=make_reloadable,
        on_reload=supervisor.reloading,
        on_terminate=supervisor.stopping,
    )
