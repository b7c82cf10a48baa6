"""What a service's answer says, where it is no success: as botocore would raise it, so that there is one reading."""

import re
from http.client import responses

from botocore.exceptions import ClientError
from botocore.parsers import ResponseParserError

from spoteval.store.http_exchange import Answer

_CODE = re.compile(rb"<Code>\s*([^<]{1,200})</Code>")
_MESSAGE = re.compile(rb"<Message>\s*([^<]{1,2000})</Message>")


def error_of(answer: Answer, method: str) -> Exception:
    """The error of an answer; ResponseParserError for the page of something that is no S3 service."""
    body = answer.body.strip()
    code = _CODE.search(body)
    if code is None and body and not body.startswith(b"<?xml") and answer.status == 200:
        return ResponseParserError("no answer of S3")
    status = str(answer.status)
    said = {
        "Code": code[1].decode(errors="replace").strip() if code else status,
        "Message": _text(_MESSAGE.search(body)) or responses.get(answer.status, ""),
    }
    meta = {"HTTPStatusCode": answer.status, "HTTPHeaders": dict(answer.headers)}
    return ClientError({"Error": said, "ResponseMetadata": meta}, method)  # type: ignore[typeddict-item]


def _text(found: "re.Match[bytes] | None") -> str:
    return found[1].decode(errors="replace").strip() if found else ""
