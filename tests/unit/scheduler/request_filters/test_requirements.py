"""Requirements of flavors and images become traits of the root provider."""

import pytest

from armillary import exception
from objects.request_spec import RequestSpec
from scheduler import request_filters
from scheduler.request_filters import BaseRequestFilter
from scheduler.request_filters.accelerators import Accelerators
from scheduler.request_filters.ephemeral_encryption import EphemeralEncryption
from scheduler.request_filters.packed_virtqueue import PackedVirtqueue
from scheduler.request_filters.tpm_secret_security import TPMSecretSecurity
from scheduler.request_filters.virtio_sound import VirtioSound
from tests.builders import an_image
from tests.fleets import a_request_spec, scheduling_conf, some_cluster_metadata

ENCRYPTION = "COMPUTE_EPHEMERAL_ENCRYPTION"
TPM = "COMPUTE_SECURITY_TPM_SECRET_SECURITY"


def required(each: type[BaseRequestFilter], spec: RequestSpec) -> list[str]:
    request_filters.apply_all([each(scheduling_conf())], spec, some_cluster_metadata())
    assert spec.request_level_params is not None
    return spec.request_level_params.root_required


@pytest.mark.parametrize(
    ("each", "extra_specs", "properties", "expected"),
    [
        (Accelerators, {}, {}, []),
        (Accelerators, {"accel:device_profile": "gpu"}, {}, ["COMPUTE_ACCELERATORS"]),
        (PackedVirtqueue, {}, {}, []),
        (PackedVirtqueue, {"hw:virtio_packed_ring": "yes"}, {}, ["COMPUTE_NET_VIRTIO_PACKED"]),
        (PackedVirtqueue, {}, {"hw_virtio_packed_ring": "true"}, ["COMPUTE_NET_VIRTIO_PACKED"]),
        (PackedVirtqueue, {"hw:virtio_packed_ring": "no"}, {"hw_virtio_packed_ring": "yes"}, []),
        (PackedVirtqueue, {"hw:virtio_packed_ring": "perhaps"}, {}, []),
        (EphemeralEncryption, {}, {"hw_ephemeral_encryption_format": "luks"}, []),
        (EphemeralEncryption, {"hw:ephemeral_encryption": "true"}, {}, [ENCRYPTION]),
        (
            EphemeralEncryption,
            {"hw:ephemeral_encryption": "true"},
            {"hw_ephemeral_encryption_format": "luks"},
            [ENCRYPTION, f"{ENCRYPTION}_LUKS"],
        ),
        (VirtioSound, {"hw:sound_model": "virtio"}, {}, ["COMPUTE_SOUND_MODEL_VIRTIO"]),
        (VirtioSound, {}, {"hw_sound_model": "ac97"}, []),
        (TPMSecretSecurity, {"hw:tpm_secret_security": "host"}, {}, []),
        (TPMSecretSecurity, {"hw:tpm_version": "2.0"}, {}, [f"{TPM}_USER"]),
        (
            TPMSecretSecurity,
            {"hw:tpm_secret_security": "host"},
            {"hw_tpm_version": "2.0"},
            [f"{TPM}_HOST"],
        ),
    ],
)
def test_a_demand_becomes_traits(
    each: type[BaseRequestFilter],
    extra_specs: dict[str, str],
    properties: dict[str, str],
    expected: list[str],
) -> None:
    """The flavor's word counts before the image's."""
    spec = a_request_spec(extra_specs, image=an_image(properties=properties))
    assert required(each, spec) == expected


@pytest.mark.parametrize(
    ("each", "extra_specs", "reason"),
    [
        (
            EphemeralEncryption,
            {"hw:ephemeral_encryption": "true", "hw:ephemeral_encryption_format": "rot13"},
            "local disks: rot13",
        ),
        (
            TPMSecretSecurity,
            {"hw:tpm_version": "2.0", "hw:tpm_secret_security": "none"},
            "user, host or deployment, not none",
        ),
    ],
    ids=["encryption", "tpm"],
)
def test_a_demand_that_no_host_can_meet_fails_the_request(
    each: type[BaseRequestFilter], extra_specs: dict[str, str], reason: str
) -> None:
    """It is not ignored: these are about secrets."""
    with pytest.raises(exception.RequestFilterFailed, match=reason):
        required(each, a_request_spec(extra_specs))


def test_a_request_without_an_image_demands_nothing_by_it() -> None:
    assert required(VirtioSound, a_request_spec(image=None)) == []
