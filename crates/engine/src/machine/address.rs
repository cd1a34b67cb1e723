//! Which network addresses count as private (B7, row 10): where `http://` may go, and where no proxy is asked (B48).
//! Decisions rest on parsed hosts and addresses, never on text.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use url::Host;

/// Whether `http://` may go to this host as far as its name tells (B7).
pub fn is_private_host<S: AsRef<str>>(host: &Host<S>) -> bool {
    match host {
        Host::Ipv4(ip) => is_private_address(IpAddr::V4(*ip)),
        Host::Ipv6(ip) => is_private_address(IpAddr::V6(*ip)),
        Host::Domain(name) => is_private_name(name.as_ref()),
    }
}

/// Loopback, RFC 1918, 100.64/10 and IPv6 unique-local; IPv4 inside IPv6 counts as IPv4.
pub fn is_private_address(ip: IpAddr) -> bool {
    match ip.to_canonical() {
        IpAddr::V4(ip) => ip.is_loopback() || ip.is_private() || is_shared(ip),
        IpAddr::V6(ip) => ip.is_loopback() || is_unique_local(ip),
    }
}

/// 100.64/10
fn is_shared(ip: Ipv4Addr) -> bool {
    let [a, b, ..] = ip.octets();
    a == 100 && (64..128).contains(&b)
}

/// fc00::/7
fn is_unique_local(ip: Ipv6Addr) -> bool {
    ip.segments()[0] & 0xFE00 == 0xFC00
}

fn is_private_name(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
    let labels: Vec<&str> = name.split('.').collect();
    if labels.iter().any(|label| label.is_empty()) {
        return false;
    }
    matches!(labels.as_slice(), [_] | [.., "localhost" | "local" | "internal" | "lan"] | [_, .., "home", "arpa"])
}
