"""To which addresses messages may go. A host's name is looked up here, its addresses are checked, and the connection is made to a
checked one: what the name means a moment later does not count (DNS rebinding).

Never allowed: link-local, multicast, reserved and unspecified addresses, and those at which clouds hand out credentials.
"""

import ipaddress
import socket

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
METADATA = frozenset(
    map(ipaddress.ip_address, ("169.254.169.254", "fd00:ec2::254", "100.100.100.200", "168.63.129.16", "192.0.0.192"))
)
UNICAST = ipaddress.ip_network("2000::/3")  # what IPv6 gives out for the Internet
PRIVATE = tuple(map(ipaddress.ip_network, ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7")))
NAT64 = ipaddress.ip_network("64:ff9b::/96")


class Refused(Exception):
    """No message may go there; the message says why."""


class Unknown(Exception):
    """The name has no address now: try again."""


def checked(host: str, port: int, network: str) -> list[str]:
    """The addresses of a host, in the system's order. Raises Refused if one of them is not allowed, or Unknown."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise Unknown(f"the host's name has no address ({type(error).__name__})") from error
    addresses = list(dict.fromkeys(str(each[4][0]) for each in found))
    for address in addresses:
        if why := refused(address, network):
            raise Refused(f"the host's address {address} {why}")
    return addresses


def refused(address: str, network: str) -> str | None:
    """Why no message may go to that address, or None. `network`: as a target declares it."""
    ip = _embedded(ipaddress.ip_address(address.partition("%")[0]))
    if ip in METADATA or ip.is_link_local:
        return "is link-local or a cloud's metadata service: never allowed"
    if ip.is_multicast or ip.is_unspecified:
        return "is multicast or unspecified: never allowed"
    if ip.is_loopback:
        return None if network == "loopback" else "is of this machine: allowed with network: loopback only"
    if network == "loopback":
        return "is not of this machine, and the target says network: loopback"
    if any(ip in private for private in PRIVATE):
        return None if network == "private" else "is private: allowed with network: private only"
    return None if ip.is_global and (ip.version == 4 or ip in UNICAST) else "is reserved: never allowed"


def _embedded(ip: Address) -> Address:
    """The IPv4 address in an IPv6 one that leads to it."""
    if isinstance(ip, ipaddress.IPv4Address):
        return ip
    if ip in NAT64:
        return ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
    return ip.ipv4_mapped or ip.sixtofour or ip
