"""Error codes of S3 services (AWS: API reference, "Error responses"; others by their own documentation)."""

from collections.abc import Mapping

_ROTATED = "(rotated? see [store] credential)"
_EXPIRED = "the key's token has expired (a fresh one in the credential file is read by itself)"
_WRONG_REGION = "the bucket is in another region: set [store] region"
_FULL = "the store is full"

LATER_CODES: Mapping[str, str] = {
    "NoSuchBucket": "no such bucket (create it, or correct [store] url; spoteval creates none)",
    "InvalidAccessKeyId": f"the store does not know this key {_ROTATED}",
    "SignatureDoesNotMatch": f"the secret does not belong to this key {_ROTATED}",
    "ExpiredToken": _EXPIRED,
    "ExpiredTokenException": _EXPIRED,
    "TokenRefreshRequired": _EXPIRED,
    "InvalidToken": f"the key's token is not valid {_ROTATED}",
    "InvalidSecurity": f"the key is not valid {_ROTATED}",
    "AccountProblem": "the account has a problem: ask the provider",
    "AllAccessDisabled": "the bucket is disabled: ask the provider",
    "PermanentRedirect": _WRONG_REGION,
    "AuthorizationHeaderMalformed": _WRONG_REGION,
    "IllegalLocationConstraintException": _WRONG_REGION,
    "QuotaExceeded": _FULL,
    "BucketQuotaExceeded": _FULL,
    "BucketObjectsCountExceeded": _FULL,
    "InsufficientStorage": _FULL,
    "XMinioStorageFull": _FULL,
}
"""What no other try mends, and what is the same for every key: the store is as good as away."""

KEY_CODES = frozenset(
    [
        "InvalidAccessKeyId",
        "SignatureDoesNotMatch",
        "ExpiredToken",
        "ExpiredTokenException",
        "TokenRefreshRequired",
        "InvalidToken",
        "InvalidSecurity",
    ]
)
"""After these the key is read anew: it may have been replaced."""

DIGEST_CODES = frozenset(
    ["BadDigest", "InvalidDigest", "XAmzContentSHA256Mismatch", "XAmzContentChecksumMismatch"]
)
"""The service looked at the bytes, and they are not those of the put's headers."""
AGAIN_STATUS = frozenset([408, 409, 425, 429, 500, 502, 503, 504])
AGAIN_CODES = frozenset(
    [
        "RequestTimeout",
        "SlowDown",
        "InternalError",
        "IncompleteBody",
        *DIGEST_CODES,
    ]
)
"""The service is busy, two puts met (409), or the bytes were damaged on their way."""
