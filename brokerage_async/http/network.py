"""Settings of the connections: the proxy, the certificates, and whether plain http is acceptable.

Everything is decided when a client is made: an environment has one address, and so one way to it.
"""

from __future__ import annotations

import ipaddress
import logging
from base64 import b64encode
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, unquote, urlsplit

import attrs

from .._arguments import check_flag
from .._secrets import Secret
from ..config import Environment
from ..errors import ConfigurationError

if TYPE_CHECKING:
    from ssl import SSLContext

logger: logging.Logger = logging.getLogger("brokerage_async.network")

LOOPBACK = ipaddress.ip_network("127.0.0.0/8")
PORTS = {"http": 80, "https": 443}


def is_loopback(host: str | None) -> bool:
    """Return True for ``localhost``, 127.0.0.0/8 and ::1."""
    try:
        address = ipaddress.ip_address(host or "")
    except ValueError:
        return host == "localhost"
    return address in LOOPBACK or str(address) == "::1"


@attrs.frozen
class Proxy:
    """An HTTP proxy.

    Attributes:
        host: its host name or IP address.
        url: its address without user name and password.
        authorization: value of ``Proxy-Authorization``, None for no credentials.
    """

    host: str
    url: str
    authorization: Secret | None = None

    def headers(self) -> dict[str, str]:
        """Return the headers that go to the proxy."""
        return {} if self.authorization is None else {"Proxy-Authorization": self.authorization.reveal()}

    @classmethod
    def parse(cls, name: str, value: object) -> Proxy:
        """Read an address of the form ``scheme://[user[:password]@]host[:port]``.

        Raises:
            ConfigurationError: it has another form. The message calls it ``name`` and leaves the address out, because
                that may hold a password.
        """
        address = value if isinstance(value, Secret) else Secret(value) if isinstance(value, str) else Secret()
        parts = _split(address)
        if parts is None:
            rule = "the http or https address of a proxy, such as http://user:password@proxy.example:3128"
            if address.reveal().lower().startswith("socks"):
                rule = "an HTTP proxy; for SOCKS lend an http_session whose connector speaks it"
            raise ConfigurationError(f"{name} must be {rule}")
        authorization = None
        if parts.username is not None:
            credentials = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            authorization = Secret(f"Basic {b64encode(credentials.encode()).decode()}")
        host = str(parts.hostname)
        shown = f"[{host}]" if ":" in host else host
        return cls(host, f"{parts.scheme}://{shown}:{parts.port or PORTS[parts.scheme]}", authorization)


def _split(address: Secret) -> SplitResult | None:
    """Return the parts of the address of a proxy, or None, in a frame that no traceback shows with the password."""
    if not address.reveal().isprintable() or any(character in address.reveal() for character in " ?#"):
        return None
    try:
        parts = urlsplit(address.reveal())
        usable = parts.scheme in PORTS and bool(parts.hostname) and parts.port != 0
    except ValueError:  # its message may quote a part of the password
        return None
    return parts if usable and parts.path in {"", "/"} else None


@attrs.frozen(kw_only=True)
class Network:
    """Settings of the connections of one client.

    Attributes:
        proxy: the proxy to send through, None to connect directly.
        ssl: certificates to trust and to present, None for those that Python trusts.
        trust_env: whether a proxy was looked for in the environment variables.
    """

    proxy: Proxy | None = None
    ssl: SSLContext | None = None
    trust_env: bool = False


def configure_network(
    environment: Environment,
    *,
    proxy: str | Secret | None = None,
    ssl: SSLContext | None = None,
    trust_env: bool = False,
    allow_http: bool = False,
) -> Network:
    """Return the settings of the connections to ``environment``. Log a warning if they are not safe.

    Args:
        environment: the environment to connect to.
        proxy: address of a proxy, as the user wrote it.
        ssl: context of the TLS connections.
        trust_env: without ``proxy``, use the one that the environment variables name.
        allow_http: accept plain http beyond loopback.

    Raises:
        ConfigurationError: an argument cannot be used, or credentials would travel over plain http.
    """
    check_flag("trust_env", trust_env)
    check_flag("allow_http", allow_http)
    if ssl is not None:
        from ssl import CERT_NONE, PROTOCOL_TLS_SERVER, SSLContext

        if not isinstance(ssl, SSLContext) or ssl.protocol is PROTOCOL_TLS_SERVER:
            raise ConfigurationError(
                "ssl must be an ssl.SSLContext for clients, such as ssl.create_default_context(cafile=...), "
                f"got {type(ssl).__name__}"
            )
        if ssl.verify_mode is CERT_NONE or not ssl.check_hostname:
            logger.warning("ssl does not verify who answers: credentials may reach anyone on the way")
    found = None if proxy is None else Proxy.parse("proxy", proxy)
    if found is None and trust_env:
        from urllib.request import getproxies, proxy_bypass

        parts = urlsplit(environment.base_url)
        address = Secret(getproxies().get(parts.scheme) or getproxies().get("all") or "")  # HTTPS_PROXY, ALL_PROXY
        if address and not is_loopback(parts.hostname) and not proxy_bypass(parts.netloc):  # NO_PROXY
            complete = address if "://" in address.reveal() else Secret(f"http://{address.reveal()}")
            found = Proxy.parse("the proxy of the environment", complete)
    for name, url in (("base_url", environment.base_url), *environment.hosts.items()):
        parts = urlsplit(url)  # not its origin: whether an address is loopback depends on the spelling
        stays_here = is_loopback(parts.hostname) and (found is None or is_loopback(found.host))
        if parts.scheme == "https" or stays_here:
            continue
        way = f"{parts.scheme}://{parts.netloc.lower()}" + ("" if found is None else f" through {found.url}")
        if not allow_http:
            raise ConfigurationError(
                f"{name} must be an https address, got {way}: plain http shows the credentials to anyone on the way. "
                "Where that is acceptable, pass allow_http=True or set BROKERAGE_ALLOW_HTTP=true"
            )
        logger.warning("allow_http: credentials travel unencrypted to %s", way)
    return Network(proxy=found, ssl=ssl, trust_env=trust_env)


def describe_refusal(proxy: Proxy | None, status: int, offered: str) -> str:
    """Return why a proxy did not open a tunnel.

    Args:
        proxy: the proxy, None for one of a borrowed session.
        status: status of its answer to CONNECT.
        offered: its ``Proxy-Authenticate``, empty for none.
    """
    name = "the proxy of http_session" if proxy is None else f"the proxy {proxy.url}"
    if status != 407:
        return f"{name} refused to connect (status {status})"
    words = offered.replace(",", " ").split()
    if words and "basic" not in {word.lower() for word in words}:
        return f"{name} does not accept a user name and password (407), only {words[0][:20]!r}"
    if proxy is None:
        return f"{name} requires another user name and password (407)"
    if proxy.authorization is not None:
        return f"{name} rejected the user name and password (407)"
    return f"{name} requires a user name and password (407): pass proxy='http://user:password@host:port'"
