"""The key of a process: replaced without a restart, and never lost to a wrong file."""

from rpc.signing import keys


class Clock:
    now = 0.0

    def __call__(self):
        self.now += 2.0  # more than a look a second
        return self.now


def test_a_replaced_key_file_is_read(tmp_path):
    path = tmp_path / "signing.key"
    first = keys.create(path)
    file = keys.KeyFile(path, clock=Clock())
    assert file.current().key_id == first.key_id
    second = keys.create(tmp_path / "new.key")
    (tmp_path / "new.key").replace(path)
    assert file.current().key_id == second.key_id


def test_the_key_stays_while_its_file_is_wrong(tmp_path):
    """Missing, half written, or readable by others: a service goes on with the key it has."""
    path = tmp_path / "signing.key"
    first = keys.create(path)
    file = keys.KeyFile(path, clock=Clock())
    path.unlink()
    assert file.current().key_id == first.key_id
    path.write_text("-----BEGIN")
    path.chmod(0o600)
    assert file.current().key_id == first.key_id
    keys.create(tmp_path / "open.key")
    (tmp_path / "open.key").chmod(0o644)
    (tmp_path / "open.key").replace(path)
    assert file.current().key_id == first.key_id
