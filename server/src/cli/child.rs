//! What commands need that start servers of their own: this program once more, and places to listen.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::process::Command;

/// This program, deaf to settings that are meant for somebody else's store.
pub(super) fn this_program() -> io::Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("TALLYRING_")) {
        command.env_remove(name);
    }
    Ok(command)
}

/// Addresses of loopback on which nobody listens. They are found together, so that they differ.
pub(super) fn free_addrs(count: usize) -> io::Result<Vec<SocketAddr>> {
    let bind = |_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    let listeners = (0..count).map(bind).collect::<io::Result<Vec<TcpListener>>>()?;
    listeners.iter().map(TcpListener::local_addr).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_addresses_differ() {
        let addrs = free_addrs(5).unwrap();
        let distinct: std::collections::BTreeSet<_> = addrs.iter().collect();
        assert_eq!(distinct.len(), 5);
        assert!(addrs.iter().all(|addr| addr.ip().is_loopback() && addr.port() != 0));
    }
}
