//! The nodes of the demo, and the folder that is theirs.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use tempfile::TempDir;
use tokio::time::sleep;

use super::super::child::free_addrs;
use super::node::{Addresses, DemoNode};

/// Where a node listens: at so many addresses.
const LISTENERS: usize = 4;

/// How often it is looked whether a node has ended.
const LOOK: Duration = Duration::from_millis(200);

/// A cluster on this machine. Nodes end with this value, and what they wrote is gone.
#[derive(Debug)]
pub(super) struct Nodes {
    nodes: Vec<DemoNode>,
    folder: TempDir,
}

impl Nodes {
    /// Starts a cluster of `count` nodes with `rules`; when this returns, all serve.
    ///
    /// # Errors
    /// The system has no folder, ports or processes for them, or one does not come up.
    pub(super) async fn start(count: u16, rules: &str) -> io::Result<Nodes> {
        let folder = tempfile::Builder::new().prefix("tallyring-demo-").tempdir()?;
        let rules_file = folder.path().join("rules.toml");
        fs::write(&rules_file, rules)?;
        let addresses = free_addresses(usize::from(count))?;
        let founds = format!("rules = {}\n", toml::Value::from(rules_file.display().to_string()));
        let joins = format!("join = \"{}\"\n", addresses[0].peer);
        let start = |(id, addresses)| {
            let more = if id == 1 { &founds } else { &joins };
            DemoNode::start(folder.path(), id, addresses, more)
        };
        let nodes = (1..).zip(addresses).map(start).collect::<io::Result<Vec<DemoNode>>>()?;
        let mut nodes = Nodes { nodes, folder };
        for node in &mut nodes.nodes {
            node.serves().await?;
        }
        Ok(nodes)
    }

    pub(super) fn all(&self) -> &[DemoNode] {
        &self.nodes
    }

    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(super) fn native_addrs(&self) -> impl Iterator<Item = SocketAddr> {
        self.nodes.iter().map(|node| node.addresses.native)
    }

    /// Says who has ended, for ever.
    pub(super) async fn watch(&mut self) {
        loop {
            for node in &mut self.nodes {
                if let Some(status) = node.news() {
                    let (id, settings) = (node.id, node.settings.display());
                    eprintln!("node {id} has ended ({status}); to start it again: tallyring serve --config {settings}");
                }
            }
            sleep(LOOK).await;
        }
    }

    /// Ends all nodes in order, and removes what they wrote.
    ///
    /// # Errors
    /// The system does not let us.
    pub(super) async fn stop(mut self) -> io::Result<()> {
        self.nodes.iter().for_each(DemoNode::terminate);
        for node in &mut self.nodes {
            node.ends().await?;
        }
        self.folder.close()
    }
}

/// Addresses of loopback at which nobody listens. They are found together, so that they differ.
fn free_addresses(nodes: usize) -> io::Result<Vec<Addresses>> {
    let found = free_addrs(nodes * LISTENERS)?;
    let (found, _) = found.as_chunks::<LISTENERS>();
    Ok(found
        .iter()
        .map(|[native, http, resp, peer]| Addresses { native: *native, http: *http, resp: *resp, peer: *peer })
        .collect())
}
