"""Options of [libvirt]: virtual machines and their migration."""

from oslo_config import cfg, types

# fmt: off
OPTIONS: dict[str, list[cfg.Opt]] = {
    "libvirt": [
        cfg.StrOpt(
            "connection_uri", default="qemu:///system",
            help="""
URI of the libvirt daemon in which the driver ``libvirt`` creates its guests. The agent and the
daemon both open the guests' files, so the daemon must run on the agent's machine.
""",
        ),
        cfg.StrOpt(
            "virt_type", default="kvm",
            choices=[
                ("kvm", "Hardware virtualisation."),
                ("qemu", "Software emulation: slow, but available on any machine."),
                ("test", "Guests simulated by libvirt's own test driver."),
            ],
            help=(
                "Virtualisation type of guests. The agent refuses to start if libvirt does not "
                "support it."
            ),
        ),
        cfg.StrOpt(
            "instances_path", default="$state_path/instances",
            help="""
Directory with one subdirectory per guest, for its disks and its console log. Two hosts that share
it (NFS) migrate guests without copying their disks; they detect this themselves.
""",
        ),
        cfg.StrOpt(
            "images_path", default="$state_path/images",
            help="""
Directory of the image files (image property ``libvirt_disk_file``); files outside it are never
used. With ``images_type = qcow2``, files that guests were created from must not change.
""",
        ),
        cfg.StrOpt(
            "images_type", default="qcow2",
            choices=[
                ("qcow2", "An overlay on the image's file; needs qemu-img."),
                ("raw", "A sparse copy; needs qemu-img for qcow2 images only."),
                ("lvm", "Logical volumes of images_volume_group, for all disks of guests."),
                ("rbd", "Images of images_rbd_pool in a Ceph cluster, for all disks of guests."),
            ],
            help="""
Format of the root disks of new guests, and where they are kept. Guests whose disks are files keep
them there when this changes; move all guests away before you change it from ``lvm`` or ``rbd``.
""",
        ),
        cfg.StrOpt(
            "images_volume_group", default="", regex=r"^([A-Za-z0-9_+.][A-Za-z0-9_+.-]{0,126})?$",
            help="Volume group of this host's disks with ``images_type = lvm``.",
        ),
        cfg.StrOpt(
            "images_rbd_pool", default="", regex=r"^([A-Za-z0-9_.-]{1,127})?$",
            help="Pool of Ceph for disks with ``images_type = rbd``, the same on all hosts.",
        ),
        cfg.StrOpt(
            "images_rbd_ceph_conf", default="/etc/ceph/ceph.conf",
            regex=r"^/[A-Za-z0-9_./-]{1,250}$",
            help="Ceph's configuration file, which agent and hypervisor read.",
        ),
        cfg.StrOpt(
            "rbd_user", regex=r"^[A-Za-z0-9_.-]{1,127}$",
            help="User of Ceph (``client.NAME`` without ``client.``). Unset: Ceph's default.",
        ),
        cfg.StrOpt(
            "rbd_secret_uuid", regex=r"^[0-9a-fA-F-]{36}$",
            help="""
UUID of libvirt's secret (``virsh secret-define``) with the key of ``rbd_user``, which needs it.
""",
        ),
        cfg.BoolOpt(
            "report_disk", default=True,
            help="""
Whether this host reports DISK_GB. Set to false where hosts share their storage and a sharing
resource provider reports it once for all of them; otherwise, the same room counts for each host.
""",
        ),
        cfg.StrOpt(
            "cpu_mode",
            choices=[
                ("host-model", "The named model nearest to the host's CPU."),
                (
                    "host-passthrough",
                    "The host's CPU; guests can migrate between identical CPUs only.",
                ),
                ("maximum", "All features that the hypervisor supports; for software emulation."),
                ("custom", "A model of cpu_models."),
                ("none", "The hypervisor's default."),
            ],
            help="""
CPU mode of guests. Unset: ``host-model`` if virt_type is kvm, else ``none``; on aarch64
``host-passthrough`` and ``maximum``. The agent refuses to start if libvirt does not support it.
""",
        ),
        cfg.ListOpt(
            "cpu_models", default=[], item_type=types.String(max_length=64),
            deprecated_name="cpu_model",
            help="""
Names of libvirt CPU models, for ``cpu_mode = custom``. A guest gets the first one that has all
traits of a CPU (``trait:HW_CPU_...``) that its flavor and image require.
""",
        ),
        cfg.ListOpt(
            "cpu_model_extra_flags", default=[],
            item_type=types.String(regex=r"^[+-]?[A-Za-z0-9._-]{1,63}$"),
            help="""
CPU features that guests get in addition to those of their model (``pcid`` or ``+pcid``), or do not
get (``-vmx``). Not with ``cpu_mode = none``.
""",
        ),
        cfg.StrOpt(
            "hw_machine_type",
            help="""
Machine type of guests, such as ``q35`` or ``pc``; the image property of the same name overrides it.
Unset: ``q35`` for x86_64, ``virt`` for aarch64, else the hypervisor's default.
""",
        ),
        cfg.StrOpt(
            "network",
            help="""
libvirt network of this machine to which each guest gets a virtio interface, such as ``default``.
The interface's MAC address is derived from the guest's UUID. Unset: guests have no network.
""",
        ),
        cfg.BoolOpt(
            "force_config_drive", default=False,
            help="""
Whether every guest gets a config drive. Otherwise a guest gets one if it has something to read
there (user data, a key, a password, files), or if its user or image asks for one. There is no
metadata service: set this if your images learn their host name and network configuration from
cloud-init.
""",
        ),
        cfg.StrOpt(
            "config_drive_layout", default="openstack",
            choices=[
                ("openstack", "OpenStack's: cloud-init's data source ConfigDrive."),
                ("nocloud", "cloud-init's data source NoCloud."),
            ],
            help="Layout of the files on config drives of new guests.",
        ),
        cfg.DictOpt(
            "project_networks", default={},
            help="""
libvirt networks of projects, in place of ``network``: ``PROJECT_ID:NETWORK,PROJECT_ID:NETWORK``.
""",
        ),
        cfg.DictOpt(
            "flavor_networks", default={},
            help="""
libvirt networks of flavors, by name, in place of those of projects:
``FLAVOR:NETWORK,FLAVOR:NETWORK``. Hosts of an aggregate get theirs by their own configuration.
""",
        ),
        cfg.StrOpt(
            "network_filter", default="clean-traffic",
            help="""
libvirt's network filter of each interface. ``clean-traffic`` keeps guests from sending under MAC
and IP addresses that are not theirs. Empty: no filter.
""",
        ),
        cfg.StrOpt(
            "live_migration_uri", default="qemu+tls://%s/system",
            help="""
URI of the libvirt daemon on another host; ``%s`` is replaced by that host's
``live_migration_inbound_addr``. Used for live migrations, and to fetch the disks of guests that are
moved while powered off.
""",
        ),
        cfg.HostAddressOpt(
            "live_migration_inbound_addr", sample_default="<my_ip>",
            help="Address or name at which other hosts reach this host's daemon. Unset: my_ip.",
        ),
        cfg.StrOpt(
            "live_migration_data_uri", default="tcp://%s",
            help="""
Destination of a guest's memory and disks during a live migration; ``%s`` is replaced by the other
host's ``live_migration_inbound_addr``. libvirt adds a port from its own range, 49152 to 49215.
""",
        ),
        cfg.BoolOpt(
            "live_migration_with_native_tls", default=False,
            help="""
Whether the hypervisor encrypts migration traffic (TLS). Its certificates must be installed on both
hosts.
""",
        ),
        cfg.BoolOpt(
            "live_migration_permit_auto_converge", default=False, mutable=True,
            help="Whether a guest that changes memory faster than it can be sent is slowed down.",
        ),
        cfg.BoolOpt(
            "live_migration_permit_post_copy", default=False, mutable=True,
            help="""
Whether a live migration may end by post-copy: the guest runs at the destination, and fetches the
memory that is still missing. Used when a migration is forced to complete. A guest whose hosts lose
each other meanwhile is lost. Both hosts' kernels must allow it (sysctl
``vm.unprivileged_userfaultfd = 1``), or no live migration begins.
""",
        ),
        cfg.IntOpt(
            "disk_copy_timeout_seconds", default=3600, min=60, max=7 * 24 * 3600,
            help="""
Maximum duration of a copy of a disk on its host: of an image for a new guest, or for a snapshot.
Then the build goes to the next host, and the snapshot fails. Raise it for large disks on slow
storage.
""",
        ),
        cfg.IntOpt(
            "live_migration_completion_timeout", default=800, min=0, max=1_000_000, mutable=True,
            help="""
Seconds that a live migration may take for each GiB of memory, and of disks that are copied, as if
there were 2 GiB at least. 0 means no limit.
""",
        ),
        cfg.StrOpt(
            "live_migration_timeout_action", default="abort", mutable=True,
            choices=[
                ("abort", "The guest stays at its source."),
                (
                    "force_complete",
                    "Post-copy where it is permitted; otherwise the guest is paused until it has "
                    "moved.",
                ),
            ],
            help="What happens to a live migration that takes longer.",
        ),
        cfg.IntOpt(
            "live_migration_bandwidth", default=0, min=0, max=1_000_000, mutable=True,
            help="Maximum bandwidth of a live migration, in MiB per second. 0 means no limit.",
        ),
    ]
}
