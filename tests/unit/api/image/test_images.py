"""Images: who sees and changes which, filters, patches, tags, members."""

from typing import Any

import pytest
from oslo_config import cfg

from tests.fixtures.checks import go_types
from tests.unit.api.image.conftest import ADMIN, ALICE, BOB, Images


def test_versions_and_schemas_are_found(images: Images) -> None:
    result = images.send("GET", "/")
    assert result.status_code == 300
    assert result.json["versions"][0]["links"][0]["href"].endswith("/image/v2/")
    assert images.send("GET", "/v2/schemas/image").json["name"] == "image"
    assert images.send("GET", "/v2/schemas/nothing").status_code == 404


def test_an_image_is_its_projects_own(images: Images) -> None:
    """Until it is shared or an administrator makes it public."""
    image = images.create(colour="blue")
    assert (image["owner"], image["visibility"], image["colour"]) == ("stars", "shared", "blue")
    path = f"/v2/images/{image['id']}"
    assert images.send("GET", path, token=BOB).status_code == 404
    assert images.patch(image["id"], ("replace", "/visibility", "public")).status_code == 403
    public = ("replace", "/visibility", "public")
    assert images.patch(image["id"], public, token=ADMIN).status_code == 200
    assert images.show(image["id"], token=BOB)["name"] == "disk"
    assert images.send("DELETE", path, token=BOB).status_code == 403
    assert images.patch(image["id"], ("replace", "/name", "mine"), token=BOB).status_code == 403


def test_go_decodes_images(images: Images) -> None:
    """gophercloud does, and Terraform's provider with it; without data and with them."""
    images.upload(images.create(colour="blue", tags=["t"])["id"])
    images.create("empty", os_hidden=True)
    listed = images.send("GET", "/v2/images", params={"os_hidden": "true"}).json["images"]
    listed += images.send("GET", "/v2/images").json["images"]
    assert {image["name"] for image in listed} == {"disk", "empty"}
    assert go_types.misfits(listed, [go_types.IMAGE]) == []


def test_the_compute_api_has_the_same_images(images: Images) -> None:
    """And the same idea of who sees which."""
    image = images.create()
    path = f"/v2.1/images/{image['id']}"
    for token, status in ((ALICE, 200), (BOB, 404)):
        result = images.web.simulate_get(path, headers={"X-Auth-Token": token})
        assert result.status_code == status


@pytest.mark.parametrize("visibility", ["community", "shared", "private"])
@pytest.mark.parametrize("token", [ALICE, ADMIN])
def test_no_project_puts_its_image_under_a_name_that_others_use(
    visibility: str, token: str, images: Images
) -> None:
    """Neither in place of a public image, nor beside it, nor unasked; accepted it counts."""
    forged = images.create("ubuntu", token=BOB, visibility=visibility)
    if visibility == "shared":
        path = f"/v2/images/{forged['id']}/members"
        assert images.send("POST", path, token=BOB, json={"member": "stars"}).status_code == 200

    def found() -> str | None:
        headers = {"X-Auth-Token": token}
        result = images.web.simulate_get("/v2.1/images/ubuntu", headers=headers)
        return result.json["image"]["id"] if result.status_code == 200 else None

    assert found() is None
    true = images.create("ubuntu", token=ADMIN, visibility="public")["id"]
    assert found() == true
    if visibility == "shared" and token == ALICE:
        answer = {"status": "accepted"}
        images.send("PUT", f"{path}/stars", json=answer)
        assert found() is None  # two have the name: the user says which


FILTERS: list[tuple[dict[str, str], set[str]]] = [
    ({}, {"a", "b", "c"}),
    ({"name": "a"}, {"a"}),
    ({"name": "in:a,c"}, {"a", "c"}),
    ({"tag": "x"}, {"b"}),
    ({"visibility": "public"}, {"c"}),
    ({"visibility": "shared"}, {"a", "b"}),
    ({"owner": "stars"}, {"a", "b"}),
    ({"status": "active"}, set()),
    ({"disk_format": "raw"}, {"b", "c"}),
    ({"os_hidden": "true"}, {"d"}),
    ({"protected": "true"}, {"b"}),
    ({"kind": "k"}, {"a"}),
    ({"min_ram": "5"}, {"c"}),
    ({"created_at": "lt:2000-01-01T00:00:00Z"}, set()),
    ({"size_min": "1"}, set()),
]


def test_lists_are_filtered(images: Images) -> None:
    """By field, tag or property."""
    images.create("a", disk_format="qcow2", kind="k")
    images.create("b", tags=["x", "y"], protected=True)
    images.create("c", token=ADMIN, visibility="public", min_ram=5)
    images.create("d", os_hidden=True)
    images.create("e", token=BOB)
    for query, names in FILTERS:
        assert images.names(**query) == names, query


def test_lists_have_an_order_and_pages(images: Images) -> None:
    """The next page is what ``next`` says."""
    for name in ("b", "c", "a"):
        images.create(name)
    path, found = "/v2/images?sort=name:asc&limit=2", []
    while path:
        url, _, query = path.partition("?")
        page = images.send("GET", url, query_string=query).json
        found.append([image["name"] for image in page["images"]])
        path = page.get("next")
    assert found == [["a", "b"], ["c"]]
    assert images.send("GET", "/v2/images?sort_key=colour").status_code == 400


def test_the_first_of_repeated_sort_keys_counts(images: Images) -> None:
    for name in ("b", "c", "a"):
        images.create(name)
    query = {"sort": "name:asc,id:asc,name:desc,name:desc"}
    listed = images.send("GET", "/v2/images", params=query).json["images"]
    assert [image["name"] for image in listed] == ["a", "b", "c"]


CHANGES: list[tuple[tuple[str, str, Any], int]] = [
    (("replace", "/name", "other"), 200),
    (("add", "/colour", "red"), 200),
    (("replace", "/kind", "l"), 200),
    (("remove", "/kind", None), 200),
    (("replace", "/tags", ["a", "a", "b"]), 200),
    (("replace", "/min_disk", 7), 200),
    (("replace", "/colour", "red"), 409),
    (("remove", "/colour", None), 409),
    (("remove", "/name", None), 403),
    (("replace", "/status", "active"), 403),
    (("replace", "/id", "x"), 403),
    (("add", "/checksum", "x"), 403),
    (("replace", "/owner", "moons"), 403),
    (("add", "/a/b", "c"), 400),
    (("add", "/number", 7), 400),
    (("add", "/hw_disk_buss", "scsi"), 400),
    (("replace", "/min_disk", "seven"), 400),
    (("replace", "/visibility", "secret"), 400),
    (("move", "/name", "x"), 400),
]


def test_patches_change_fields_and_properties(images: Images) -> None:
    """A refused patch changes nothing."""
    for change, status in CHANGES:
        image = images.create(kind="k")
        result = images.patch(image["id"], ("add", "/before", "x"), change)
        assert result.status_code == status, change
        assert ("before" in images.show(image["id"])) == (status == 200)
        if status == 200 and change[0] != "remove":
            shown = result.json[change[1][1:]]
            assert shown == (["a", "b"] if change[1] == "/tags" else change[2])


@pytest.mark.parametrize("name", ["disk_format", "container_format"])
@pytest.mark.parametrize("value", [None, "ami"])
def test_data_keeps_its_format(name: str, value: str | None, images: Images) -> None:
    """Hosts read it as what its user has said; until there is data, that may change."""
    image = images.create()
    change, back = (("replace", f"/{name}", each) for each in (value, image[name]))
    assert images.patch(image["id"], change).status_code == 200
    assert images.patch(image["id"], back).status_code == 200
    assert images.upload(image["id"]) == 204
    assert images.patch(image["id"], change).status_code == 403
    assert images.patch(image["id"], back).status_code == 200
    assert images.show(image["id"])[name] == image[name]


def test_a_protected_image_stays(images: Images) -> None:
    """Until it is not protected any more."""
    image = images.create(protected=True)
    path = f"/v2/images/{image['id']}"
    assert images.send("DELETE", path).status_code == 403
    images.patch(image["id"], ("replace", "/protected", False))
    assert images.send("DELETE", path).status_code == 204


def test_tags_come_and_go(images: Images) -> None:
    path = f"/v2/images/{images.create()['id']}"
    assert images.send("PUT", f"{path}/tags/blue").status_code == 204
    assert images.send("PUT", f"{path}/tags/blue").status_code == 204
    assert images.send("GET", path).json["tags"] == ["blue"]
    assert images.send("DELETE", f"{path}/tags/blue").status_code == 204
    assert images.send("DELETE", f"{path}/tags/blue").status_code == 404


def test_a_member_accepts_before_it_lists(images: Images) -> None:
    """The image itself is there for the member as soon as it is shared."""
    image = images.create("shared")
    path = f"/v2/images/{image['id']}/members"
    assert images.send("POST", path, token=BOB, json={"member": "moons"}).status_code == 404
    assert images.send("POST", path, json={"member": "moons"}).json["status"] == "pending"
    assert images.send("POST", path, json={"member": "moons"}).status_code == 409
    assert images.send("POST", path, json={"member": "suns"}).status_code == 200
    assert images.show(image["id"], token=BOB)["name"] == "shared"
    assert images.names(token=BOB) == set()
    assert images.names(token=BOB, member_status="pending") == {"shared"}
    accepted = {"status": "accepted"}
    assert images.send("PUT", f"{path}/moons", json=accepted).status_code == 403
    of_sdk = {**accepted, "member": "moons"}
    assert images.send("PUT", f"{path}/moons", token=BOB, json=of_sdk).status_code == 200
    assert images.names(token=BOB) == {"shared"}
    seen = images.send("GET", path, token=BOB).json["members"]
    assert [member["member_id"] for member in seen] == ["moons"]
    assert len(images.send("GET", path).json["members"]) == 2
    assert images.send("DELETE", f"{path}/moons", token=BOB).status_code == 403
    assert images.send("DELETE", f"{path}/moons").status_code == 204
    assert images.send("GET", f"/v2/images/{image['id']}", token=BOB).status_code == 404


def test_a_project_has_a_maximum_of_images(images: Images, conf: cfg.ConfigOpts) -> None:
    """Records are small, but not free."""
    conf.set_override("images_per_project_max", 2, group="image")
    limited = Images(conf, images.conductor)
    for _ in range(2):
        limited.create()
    assert limited.send("POST", "/v2/images", json={"name": "third"}).status_code == 403
    assert limited.send("POST", "/v2/images", json={"name": "x"}, token=BOB).status_code == 201


BAD: list[Any] = [
    {"id": "no-uuid"},
    {"name": 7},
    {"disk_format": "floppy"},
    {"visibility": "secret"},
    {"colour": 7},
    {"min_ram": -1},
    {"tags": "blue"},
    [],
]


def test_bad_input_makes_no_image(images: Images) -> None:
    for body in BAD:
        assert images.send("POST", "/v2/images", json=body).status_code == 400, body
    assert images.names() == set()


def test_some_fields_are_not_the_users(images: Images) -> None:
    for body in ({"status": "active"}, {"checksum": "x"}, {"owner": "moons"}):
        assert images.send("POST", "/v2/images", json=body).status_code == 403, body


def test_changes_may_have_the_form_of_version_2_0(images: Images) -> None:
    """The operation names the path; one of neither form is refused. There are never tasks."""
    path = f"/v2/images/{images.create()['id']}"
    headers = {"Content-Type": "application/openstack-images-v2.0-json-patch"}
    old = [{"add": "/colour", "value": "red"}, {"replace": "/name", "value": "new"}]
    result = images.send("PATCH", path, json=old, headers=headers)
    assert (result.json["colour"], result.json["name"]) == ("red", "new")
    refused = images.send("PATCH", path, json=[{"value": "red"}], headers=headers)
    assert refused.status_code == 400
    assert images.send("GET", f"{path}/tasks").json == {"tasks": []}
