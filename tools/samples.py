"""Write the sample configuration and policy files; with --check, say which ones are out of date."""

import argparse
import sys
import tempfile
import warnings
from pathlib import Path

from oslo_config import cfg
from oslo_config import generator as config_generator
from oslo_policy import generator as policy_generator

ROOT = Path(__file__).resolve().parent.parent
CONFIG = Path("etc/armillary")
POLICIES = {  # by namespace: the HTTP API's, the Placement REST API's
    "armillary": Path("etc/policy.yaml.sample"),
    "armillary-placement": Path("etc/placement-policy.yaml.sample"),
}


def generate(into: Path) -> list[Path]:
    """Write every sample below `into`; return their paths relative to it."""
    (into / CONFIG).mkdir(parents=True, exist_ok=True)
    samples = []
    for description in sorted((ROOT / CONFIG / "config-generator").glob("*.conf")):
        sample = CONFIG / f"{description.stem}.conf.sample"
        config_generator.main(
            ["--config-file", str(description), "--output-file", str(into / sample)]
        )
        samples.append(sample)
    for namespace, sample in POLICIES.items():
        policy_generator.generate_sample(
            ["--namespace", namespace, "--output-file", str(into / sample)], conf=cfg.ConfigOpts()
        )
        samples.append(sample)
    return samples


def out_of_date() -> list[Path]:
    """Return the samples in the tree that differ from what the code would generate now."""
    with tempfile.TemporaryDirectory() as folder:
        fresh = Path(folder)
        return [
            sample
            for sample in generate(fresh)
            if not (ROOT / sample).is_file()
            or (ROOT / sample).read_bytes() != (fresh / sample).read_bytes()
        ]


def main() -> int:
    """Return 0 when the samples are, or have been brought, up to date."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing, only compare")
    warnings.filterwarnings("ignore", message=r"\s*Eventlet is deprecated")
    if not parser.parse_args().check:
        generate(ROOT)
        return 0
    stale = out_of_date()
    for sample in stale:
        print(f"{sample} is out of date: run `make samples`", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
