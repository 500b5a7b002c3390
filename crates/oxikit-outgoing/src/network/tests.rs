#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use super::*;

fn address(text: &str) -> IpAddr {
    text.parse().unwrap()
}

#[test]
fn addresses_of_the_internet_are_public() {
    for text in [
        "1.1.1.1",
        "8.8.8.8",
        "9.255.255.255",
        "11.0.0.0",
        "100.63.255.255",
        "100.128.0.0",
        "126.255.255.255",
        "128.0.0.0",
        "168.63.129.15",
        "168.63.129.17",
        "169.253.255.255",
        "169.255.0.0",
        "172.15.255.255",
        "172.32.0.0",
        "192.0.1.0",
        "192.167.255.255",
        "192.169.0.0",
        "198.17.255.255",
        "198.20.0.0",
        "223.255.255.255",
        "2001:200::1",
        "2001:4860:4860::8888",
        "2606:4700:4700::1111",
        "2a00:1450:4001::1",
        "3ffe::1",
    ] {
        assert!(is_public(address(text)), "{text}");
    }
}

#[test]
fn special_addresses_are_not_public() {
    for text in [
        "0.0.0.0",
        "0.255.255.255",
        "10.0.0.0",
        "10.255.255.255",
        "100.64.0.0",
        "100.127.255.255",
        "127.0.0.1",
        "127.255.255.255",
        "168.63.129.16",
        "169.254.169.254",
        "172.16.0.0",
        "172.31.255.255",
        "192.0.0.192",
        "192.0.2.1",
        "192.88.99.1",
        "192.168.0.0",
        "192.168.255.255",
        "198.18.0.0",
        "198.19.255.255",
        "198.51.100.1",
        "203.0.113.1",
        "224.0.0.1",
        "239.255.255.255",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::8.8.8.8",
        "::ffff:8.8.8.8",
        "::ffff:127.0.0.1",
        "64:ff9b::8.8.8.8",
        "64:ff9b:1::1",
        "100::1",
        "2001::1",
        "2001:2::1",
        "2001:1ff:ffff::1",
        "2001:db8::1",
        "2002:7f00:1::",
        "2002:808:808::1",
        "3fff::1",
        "3fff:fff::1",
        "5f00::1",
        "fc00::1",
        "fd00:ec2::254",
        "fe80::1",
        "fec0::1",
        "ff02::1",
    ] {
        assert!(!is_public(address(text)), "{text}");
    }
}

#[test]
fn a_network_contains_the_addresses_with_its_prefix() {
    for (network, inside, outside) in [
        ("0.0.0.0/0", "255.255.255.255", "::"),
        ("::/0", "ffff::", "0.0.0.0"),
        ("10.1.2.3/8", "10.255.0.0", "11.0.0.0"),
        ("10.1.2.3", "10.1.2.3", "10.1.2.2"),
        ("10.1.2.3/32", "10.1.2.3", "::ffff:10.1.2.3"),
        ("fd00::/8", "fdff::1", "fc00::1"),
        ("::1", "::1", "::"),
    ] {
        let network: Network = network.parse().unwrap();
        assert!(network.contains(address(inside)), "{network} {inside}");
        assert!(!network.contains(address(outside)), "{network} {outside}");
    }
}

#[test]
fn what_is_not_a_network_is_refused() {
    for text in ["", "/8", "10.0.0.0/", "10.0.0.0/33", "::/129", "10.0.0.0/-1", "10/8", "host"] {
        let error = text.parse::<Network>().unwrap_err().to_string();
        assert!(error.contains(&format!("`{text}` is not a network")), "{error}");
    }
}
