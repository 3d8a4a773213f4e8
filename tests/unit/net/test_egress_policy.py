"""Which addresses may be called, in every spelling that leads to them."""

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.net.egress import EgressPolicy, Reach, parse_networks, reach_of
from muster.net.urls import BadUrl, host_of, literal_address, parse_url

EVERYTHING = EgressPolicy(loopback=True, allowed=(ip_network("0.0.0.0/0"), ip_network("::/0")))
CLOSED = EgressPolicy()

# Each leads to an address that is never called, however much the operator has opened.
NEVER = [
    "169.254.169.254",
    "169.254.0.1",
    "169.254.255.255",
    "169.254.169.254.",
    "2852039166",
    "0xA9FEA9FE",
    "0xa9.0xfe.0xa9.0xfe",
    "0251.0376.0251.0376",
    "169.254.43518",
    "169.16689662",
    "0xa9.254.0251.254",
    "0251.254.169.254",
    "169.0xfe.43518",
    "[::ffff:169.254.169.254]",
    "[::ffff:a9fe:a9fe]",
    "[0:0:0:0:0:ffff:a9fe:a9fe]",
    "[::169.254.169.254]",
    "[::a9fe:a9fe]",
    "[::ffff:0:169.254.169.254]",
    "[64:ff9b::169.254.169.254]",
    "[64:ff9b::a9fe:a9fe]",
    "[2002:a9fe:a9fe::1]",
    "[2001:0:a9fe:a9fe::f7f7:f7f7]",
    "[2001:0:808:808::5601:5601]",
    "[2606:4700::5efe:a9fe:a9fe]",
    "[2606:4700::200:5efe:169.254.169.254]",
    "[fd00:ec2::254]",
    "[FD00:0EC2:0:0:0:0:0:254]",
    "[fd00:ec2::123]",
    "[fd20:ce::254]",
    "[fd00:42::42]",
    "100.100.100.200",
    "0x646464c8",
    "[::ffff:100.100.100.200]",
    "168.63.129.16",
    "192.0.0.192",
    "0.0.0.0",
    "0",
    "0x0",
    "0.0",
    "00.00.00.00",
    "0.1.2.3",
    "[::]",
    "[::ffff:0.0.0.0]",
    "[64:ff9b::]",
    "224.0.0.1",
    "239.255.255.250",
    "[ff02::1]",
    "[ff0e::fb]",
    "255.255.255.255",
    "4294967295",
    "[::ffff:255.255.255.255]",
    "[fe80::1]",
    "[febf:ffff::1]",
    "[fe80::1%25eth0]",
    "[fe80::1%eth0]",
]
# Each leads to loopback or a private network: refused unless it is open.
WITHIN = [
    "127.0.0.1",
    "127.1",
    "127.0.1",
    "127.255.255.254",
    "2130706433",
    "0x7f000001",
    "0x7f.1",
    "0177.0.0.1",
    "017700000001",
    "0x7f.0x0.0x0.0x1",
    "127.0.0.1.",
    "[::1]",
    "[0:0:0:0:0:0:0:1]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[::127.0.0.1]",
    "[64:ff9b::127.0.0.1]",
    "[2002:7f00:1::]",
    "10.0.0.1",
    "0xa.1",
    "012.0.0.1",
    "167772161",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.1.1",
    "3232235777",
    "0300.0250.1.1",
    "100.64.0.1",
    "100.127.255.255",
    "198.18.0.1",
    "192.0.2.1",
    "198.51.100.7",
    "203.0.113.9",
    "192.0.0.8",
    "192.88.99.1",
    "240.0.0.1",
    "[fc00::1]",
    "[fdff:ffff::1]",
    "[fec0::1]",
    "[2001:db8::1]",
    "[3fff::1]",
    "[2001:2::1]",
    "[100::1]",
    "[5f00::1]",
    "[64:ff9b:1::a00:1]",
    "[::ffff:10.0.0.1]",
    "[64:ff9b::10.0.0.1]",
    "[2002:c0a8:101::1]",
    "[2001:0:808:808::f5ff:fffe]",
]
PUBLIC = [
    "1.1.1.1",
    "8.8.8.8",
    "134744072",
    "100.63.255.255",
    "100.128.0.1",
    "172.15.255.255",
    "172.32.0.1",
    "192.167.255.255",
    "198.17.255.255",
    "198.20.0.1",
    "223.255.255.255",
    "[2606:4700:4700::1111]",
    "[::ffff:8.8.8.8]",
    "[64:ff9b::8.8.8.8]",
    "[2002:808:808::1]",
]


def address_in(spelling: str) -> IPv4Address | IPv6Address:
    found = literal_address(spelling.strip("[]").lower())
    assert found is not None, "it was taken for a name"
    return found


def is_refused_as_url(policy: EgressPolicy, spelling: str) -> bool:
    """Refused when the URL is read, or when its address is held against the policy."""
    try:
        address = literal_address(host_of(parse_url(f"http://{spelling}/")))
    except BadUrl:
        return True
    return address is not None and policy.refusal(address) is not None


@pytest.mark.parametrize("spelling", NEVER)
def test_what_is_never_called_is_refused_whatever_is_open(spelling: str) -> None:
    assert is_refused_as_url(EVERYTHING, spelling)
    assert EVERYTHING.refusal(address_in(spelling.replace("%25", "%"))) is Reach.FORBIDDEN


@pytest.mark.parametrize("spelling", WITHIN)
def test_private_and_loopback_addresses_are_refused_unless_open(spelling: str) -> None:
    assert is_refused_as_url(CLOSED, spelling)
    assert CLOSED.refusal(address_in(spelling)) is not None
    assert EVERYTHING.refusal(address_in(spelling)) is None


@pytest.mark.parametrize("spelling", PUBLIC)
def test_public_addresses_may_be_called(spelling: str) -> None:
    assert CLOSED.refusal(address_in(spelling)) is None


def test_opening_one_private_network_opens_no_other() -> None:
    policy = EgressPolicy(allowed=parse_networks(["10.1.0.0/16"]))
    assert policy.refusal(ip_address("10.1.2.3")) is None
    assert policy.refusal(ip_address("::ffff:10.1.2.3")) is None
    assert policy.refusal(ip_address("10.2.0.1")) is Reach.PRIVATE
    assert policy.refusal(ip_address("192.168.0.1")) is Reach.PRIVATE


def test_the_word_private_opens_all_private_networks_but_not_loopback() -> None:
    policy = EgressPolicy(allowed=parse_networks(["private"]))
    for text in ("10.0.0.1", "192.168.0.1", "172.16.0.1", "fd12::1", "100.64.0.1"):
        assert policy.refusal(ip_address(text)) is None
    assert policy.refusal(ip_address("127.0.0.1")) is Reach.LOOPBACK
    assert policy.refusal(ip_address("fd00:ec2::254")) is Reach.FORBIDDEN


def test_loopback_is_open_only_while_muster_listens_there_alone() -> None:
    assert EgressPolicy(loopback=True).refusal(ip_address("127.0.0.1")) is None
    assert EgressPolicy(loopback=False).refusal(ip_address("127.0.0.1")) is Reach.LOOPBACK
    opened = EgressPolicy(allowed=parse_networks(["127.0.0.0/8"]))
    assert opened.refusal(ip_address("127.0.0.1")) is Reach.LOOPBACK, "no setting opens it"


def test_a_network_that_is_none_is_refused_in_a_sentence() -> None:
    with pytest.raises(ValueError, match=r"`10\.0\.0\.1/8` is no network; write `10\.0\.0\.0/8`"):
        parse_networks(["10.0.0.1/8"])


@given(st.ip_addresses(v=4))
def test_an_address_carried_in_another_is_judged_as_itself(address: IPv4Address) -> None:
    direct = CLOSED.refusal(address)
    number = int(address)
    for carrier in ("::ffff:0:0", "::ffff:0:0:0", "64:ff9b::"):
        assert CLOSED.refusal(IPv6Address(int(IPv6Address(carrier)) + number)) == direct
    around = CLOSED.refusal(IPv6Address(0x2002 << 112 | number << 80))
    assert (around is None) == (direct is None)


@given(st.ip_addresses(v=6))
def test_beyond_global_unicast_nothing_is_public(address: IPv6Address) -> None:
    if address not in ip_network("2000::/3"):
        assert reach_of(address) is not Reach.PUBLIC
