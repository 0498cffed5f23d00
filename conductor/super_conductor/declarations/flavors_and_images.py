"""Flavors, images and key pairs."""

from armillary.context import RequestContext
from objects.flavor import Flavor
from objects.images.image_record import ImageRecord
from objects.key_pair import KeyPair
from rpc.callers import API
from rpc.interface import Idempotent, Interface, call


class FlavorsAndImagesAPI(Interface):
    """Flavors, images and key pairs."""

    @call(API, idempotent=Idempotent.BY_RECORD)
    def create_flavor(self, context: RequestContext, flavor: Flavor) -> Flavor:
        """Store a flavor; an empty flavorid gets a UUID. Raises FlavorExists."""

    @call(API)
    def get_flavor(self, context: RequestContext, flavor: str) -> Flavor:
        """Return a flavor by ID, else by name.

        Raises FlavorNotFound, also for a private flavor of other projects.
        """

    @call(API)
    def list_flavors(
        self, context: RequestContext, *, is_public: bool | None = True
    ) -> list[Flavor]:
        """Return the public flavors and those of the caller's project, sorted by ID.

        False: return the private ones only, None: all; each that the caller may use, as
        administrators may any.
        """

    @call(API, idempotent=Idempotent.BY_RECORD)
    def change_extra_specs(
        self, context: RequestContext, flavor: str, changes: dict[str, str | None]
    ) -> Flavor:
        """Set extra specs of a flavor, None deletes one; others are kept. Raises FlavorNotFound."""

    @call(API, idempotent=Idempotent.BY_RECORD)
    def set_flavor_description(
        self, context: RequestContext, flavor: str, description: str | None
    ) -> Flavor:
        """Replace the description of a flavor. Raises FlavorNotFound."""

    @call(API)
    def list_flavor_access(self, context: RequestContext, flavor: str) -> list[str]:
        """Return the projects that may use a private flavor, sorted. Raises FlavorNotFound."""

    @call(API, idempotent=Idempotent.BY_RECORD)
    def add_flavor_access(self, context: RequestContext, flavor: str, project_id: str) -> list[str]:
        """Let a project use a private flavor; return all that may.

        Raises FlavorNotFound, FlavorIsPublic, FlavorAccessExists.
        """

    @call(API, idempotent=Idempotent.BY_RECORD)
    def remove_flavor_access(
        self, context: RequestContext, flavor: str, project_id: str
    ) -> list[str]:
        """Take a private flavor from a project; return all that may use it.

        Raises FlavorNotFound, FlavorAccessNotFound.
        """

    @call(API, idempotent=Idempotent.BY_RECORD)
    def delete_flavor(self, context: RequestContext, flavor: str) -> None:
        """Delete a flavor; instances keep their copy. Raises FlavorNotFound."""

    @call(API, idempotent=Idempotent.BY_RECORD)
    def create_key_pair(
        self, context: RequestContext, key_pair: KeyPair, *, replace: bool = False
    ) -> KeyPair:
        """Store a user's public key. Raises KeyPairExists, QuotaExceeded.

        ``replace``: the request is a repeat of one with an unknown outcome, and may have stored
        another key before, whose private half the user never got.
        """

    @call(API)
    def get_key_pair(self, context: RequestContext, user_id: str, name: str) -> KeyPair:
        """Return a user's key pair. Raises KeyPairNotFound."""

    @call(API)
    def list_key_pairs(self, context: RequestContext, user_id: str) -> list[KeyPair]:
        """Return a user's key pairs, sorted by name."""

    @call(API, idempotent=Idempotent.BY_RECORD)
    def delete_key_pair(self, context: RequestContext, user_id: str, name: str) -> None:
        """Delete a user's key pair. Raises KeyPairNotFound."""

    @call(API, idempotent=Idempotent.BY_RECORD)
    def create_image(
        self, context: RequestContext, record: ImageRecord, *, of_owner_max: int | None = None
    ) -> ImageRecord:
        """Store an image; its ID is set by the caller.

        An owner may have ``of_owner_max`` images, None: any number. Raises ImageExists,
        QuotaExceeded.
        """

    @call(API)
    def get_image(self, context: RequestContext, image: str) -> ImageRecord:
        """Return an image that the user may use, by ID, else by name.

        Private properties and members are those that the user may see. Raises ImageNotFound,
        Invalid for an ambiguous name.
        """

    @call(API)
    def list_images(
        self, context: RequestContext, *, nameable_only: bool = False
    ) -> list[ImageRecord]:
        """Return the images that the user may use, sorted by name and ID.

        With ``nameable_only`` those that the user may also name: one's own, public ones, and shared
        ones that one's project accepted.
        """

    @call(API, idempotent=Idempotent.BY_RECORD)
    def delete_image(self, context: RequestContext, image: str) -> None:
        """Delete an image; instances keep their copy of it.

        One with data is shown to no user from then on; the API deletes the data, and calls this
        once more as an administrator. Raises ImageNotFound, ImageProtected.
        """

    @call(API)
    def list_images_to_delete(self, context: RequestContext) -> list[ImageRecord]:
        """Return the images that are shown to no user, and are to be deleted with their data.

        Users deleted them, or their servers were unshelved or deleted. The API deletes the data,
        then the image.
        """

    @call(API, idempotent=Idempotent.BY_RECORD)
    def update_image(self, context: RequestContext, record: ImageRecord) -> ImageRecord:
        """Replace an image that was read, if it is still of that generation.

        Raises ImageNotFound, ImageChanged, QuotaExceeded.
        """

    @call(API, idempotent=Idempotent.BY_RECORD)
    def answer_image_sharing(
        self, context: RequestContext, image: str, member: str, status: str
    ) -> ImageRecord:
        """Store whether the project ``member`` accepts an image that is shared with it.

        Raises ImageNotFound, also if it is not shared with that project, and ImageChanged.
        """

    @call(API)
    def redeem_image_ticket(
        self, context: RequestContext, token: str, image_id: str, access: str
    ) -> ImageRecord:
        """Return the image whose data the holder of a ticket may ``read`` or ``write`` now.

        Raises Unauthorized for a ticket that is forged, expired or for something else, and
        ImageNotFound, also for a snapshot that is written no more.
        """
