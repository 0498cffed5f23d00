"""[libvirt]: virtual machines, and how they move between hosts."""

from __future__ import annotations

from oslo_config import cfg

OPTIONS: dict[str, list[cfg.Opt]] = {
    "libvirt": [
        cfg.StrOpt(
            "connection_uri",
            default="qemu:///system",
            help="""
The libvirt daemon of this machine that the driver ``libvirt`` makes its guests with. Files of
guests are opened by the agent as well as by the daemon, so the daemon is on the agent's machine.
""",
        ),
        cfg.StrOpt(
            "virt_type",
            default="kvm",
            choices=[
                ("kvm", "Virtual machines of the processor."),
                ("qemu", "Software emulation: any machine can do it, slowly."),
                ("test", "Guests that libvirt's own test driver only pretends to run."),
            ],
            help="How guests run. The agent refuses to start where libvirt cannot run them so.",
        ),
        cfg.StrOpt(
            "instances_path",
            default="$state_path/instances",
            help="""
Directory in which each guest has one of its own, for its disks and the log of its console. Two
hosts that share it (NFS) move guests without copying their disks; they notice it themselves.
""",
        ),
        cfg.StrOpt(
            "images_path",
            default="$state_path/images",
            help="""
Directory that the disk files of images are in (image property ``libvirt_disk_file``); no file
outside of it is ever used. Files that guests were made of must stay as they are while ``images_type
= qcow2``.
""",
        ),
        cfg.StrOpt(
            "images_type",
            default="qcow2",
            choices=[
                ("qcow2", "A file with what differs from the image's file; needs qemu-img."),
                ("raw", "A sparse copy of its own; needs qemu-img for images in qcow2 only."),
            ],
            help="What the root disks of new guests are.",
        ),
        cfg.StrOpt(
            "cpu_mode",
            choices=[
                ("host-model", "The named model that is nearest to the host's CPU."),
                ("host-passthrough", "The host's CPU; guests move between equal CPUs only."),
                ("maximum", "All that the hypervisor can do; for software emulation."),
                ("custom", "The model that cpu_model names."),
                ("none", "The hypervisor's own default."),
            ],
            help="CPU that guests see. Unset: ``host-model`` with virt_type kvm, else ``none``.",
        ),
        cfg.StrOpt(
            "cpu_model",
            help="Name of a CPU model that libvirt knows, for ``cpu_mode = custom``.",
        ),
        cfg.StrOpt(
            "hw_machine_type",
            help="""
Machine type of guests, such as ``q35`` or ``pc``; an image's property of the same name comes first.
Unset: ``q35`` for x86_64, ``virt`` for aarch64, else the hypervisor's default.
""",
        ),
        cfg.StrOpt(
            "network",
            help="""
libvirt network of this machine that each guest has a virtio interface in, such as ``default``. The
interface's MAC address follows from the guest's UUID. Unset: guests have no network.
""",
        ),
        cfg.StrOpt(
            "live_migration_uri",
            default="qemu+tls://%s/system",
            help="""
How the libvirt daemon of another host is reached; ``%s`` is replaced by that host's
``live_migration_inbound_addr``. For live migrations, and to fetch the disks of guests that move
while they are off.
""",
        ),
        cfg.HostAddressOpt(
            "live_migration_inbound_addr",
            sample_default="<my_ip>",
            help="Address or name that other hosts reach this one's daemon by. Unset: my_ip.",
        ),
        cfg.StrOpt(
            "live_migration_data_uri",
            default="tcp://%s",
            help="""
Where a guest's memory and disks are sent while it moves; ``%s`` is replaced by the other host's
``live_migration_inbound_addr``. libvirt adds the port, of its own range, 49152 to 49215.
""",
        ),
        cfg.BoolOpt(
            "live_migration_with_native_tls",
            default=False,
            help="""
Whether what is sent while a guest moves is encrypted by the hypervisor (TLS); its certificates must
be installed on both hosts.
""",
        ),
        cfg.BoolOpt(
            "live_migration_permit_auto_converge",
            default=False,
            mutable=True,
            help="Whether a guest is slowed down that changes memory faster than it can be sent.",
        ),
        cfg.IntOpt(
            "live_migration_bandwidth",
            default=0,
            min=0,
            max=1_000_000,
            mutable=True,
            help="MiB a second that a live migration may send at most. 0 is no limit.",
        ),
    ],
}


def register_opts(conf: cfg.ConfigOpts) -> None:
    conf.register_opts(OPTIONS["libvirt"], group="libvirt")


def list_opts() -> dict[str, list[cfg.Opt]]:
    return OPTIONS
