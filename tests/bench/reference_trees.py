"""The reference's candidates on trees of providers; run by the reference's own Python.

It stands on the scripts that measure the reference, which have to be on the path. The plan says
which rows there are and what is asked.
"""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import common  # type: ignore[import-not-found]
import placement_http  # type: ignore[import-not-found]
import servers  # type: ignore[import-not-found]
import sqlalchemy as sa

ROWS_PER_BATCH = 20_000


def load(url: str, rows: dict[str, list[dict[str, Any]]]) -> None:
    """Write providers, inventories and traits; classes and traits are given by name."""
    from placement.db.sqlalchemy import models  # type: ignore[import-not-found]

    engine = sa.create_engine(url)
    with engine.begin() as connection:
        classes = _numbers(connection, models.ResourceClass)
        traits = _numbers(connection, models.Trait)
        for row in rows["inventories"]:
            row["resource_class_id"] = classes[row.pop("resource_class")]
        for row in rows["traits"]:
            row["trait_id"] = traits[row.pop("trait")]
        for model, name in (
            (models.ResourceProvider, "providers"),
            (models.Inventory, "inventories"),
            (models.ResourceProviderTrait, "traits"),
        ):
            for start in range(0, len(rows[name]), ROWS_PER_BATCH):
                part = rows[name][start : start + ROWS_PER_BATCH]
                connection.execute(sa.insert(model.__table__), part)
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(sa.text("ANALYZE"))
    engine.dispose()


def _numbers(connection: sa.Connection, model: Any) -> dict[str, int]:
    return dict(connection.execute(sa.select(model.name, model.id)).tuples().all())


def main() -> None:
    parser = common.parser(__doc__)
    parser.add_argument("--plan", required=True)
    parser.add_argument("--runs", type=int, required=True)
    args = parser.parse_args()
    plan = json.loads(Path(args.plan).read_text())
    work, out = common.workdir(args), {"config": vars(args)}
    with servers.postgresql(work) as (url, database_pids):
        env = placement_http.configure(work, url)
        with placement_http.gunicorn(work, env):  # writes the standard classes and traits
            pass
        load(url, plan["rows"])
        with placement_http.gunicorn(work, env) as (port, pids):
            client = placement_http.Client(port)
            for name, path in plan["questions"].items():
                with ThreadPoolExecutor(2) as pool:  # warm both workers
                    list(pool.map(client.get, [path] * 2))
                out[name] = common.undisturbed(
                    lambda path=path: placement_http.measure_get(
                        client, path, args.runs, pids, database_pids
                    ),
                    lambda: pids() + database_pids(),
                    args.quiet_wait,
                )
    common.save(work, "placement-trees", out)


if __name__ == "__main__":
    main()
