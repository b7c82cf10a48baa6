"""Which roles an identity has on a VM or its project, by way of its groups; itself it may often not read that."""

from typing import Any

from spoteval.clock import monotonic_s
from spoteval.provider.contract import unanswered
from spoteval.provider.nebius.client import Ask, Client
from spoteval.shape import Reading, Unreadable

_PAGE = 1000


def roles_for(
    client: Client, resources: tuple[str, ...], deadline_s: float
) -> Reading[frozenset[str]]:
    """Names of roles; Unreadable where the identity may not see itself, its groups or their permits."""
    until_s = monotonic_s() + deadline_s
    profile = client.look(_profile(), deadline_s)
    if isinstance(profile, Unreadable):
        return profile
    subject = _subject(profile)
    if not subject:
        return unanswered("unknown", "no profile of a service account")
    groups = client.look(_groups(subject), until_s - monotonic_s())
    if isinstance(groups, Unreadable):
        return groups
    roles: set[str] = set()
    for group in groups.items:
        permits = client.look(_permits(str(group.metadata.id)), until_s - monotonic_s())
        if isinstance(permits, Unreadable):
            return permits
        roles |= {str(one.spec.role) for one in permits.items if one.spec.resource_id in resources}
    return frozenset(roles)


def _subject(profile: Any) -> str:
    account = profile.service_account_profile
    return str(account.info.metadata.id) if account is not None else ""


def _profile() -> Ask:
    from nebius.api.nebius.iam.v1 import GetProfileRequest, ProfileServiceClient

    return lambda to: ProfileServiceClient(to.sdk).get(GetProfileRequest(), **to.options)


def _groups(subject: str) -> Ask:
    from nebius.api.nebius.iam.v1 import GroupMembershipServiceClient, ListMemberOfRequest

    request = ListMemberOfRequest(subject_id=subject, page_size=_PAGE)
    return lambda to: GroupMembershipServiceClient(to.sdk).list_member_of(request, **to.options)


def _permits(group: str) -> Ask:
    from nebius.api.nebius.iam.v1 import AccessPermitServiceClient, ListAccessPermitRequest

    request = ListAccessPermitRequest(parent_id=group, page_size=_PAGE)
    return lambda to: AccessPermitServiceClient(to.sdk).list(request, **to.options)
