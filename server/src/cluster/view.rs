//! The topology as this node sees it, ready to be pushed.

use arc_swap::ArcSwap;
use bytes::Bytes;
use tallyring_protocol::{Reply, Topology};

/// The current topology and the frame that pushes it.
#[derive(Debug)]
pub struct View {
    current: ArcSwap<Topology>,
    frame: ArcSwap<Bytes>,
}

impl View {
    /// A view that begins with this topology.
    pub fn new(topology: Topology) -> View {
        View { frame: ArcSwap::from_pointee(push_frame(&topology)), current: ArcSwap::from_pointee(topology) }
    }

    /// The frame that pushes the current topology.
    pub fn frame(&self) -> Bytes {
        Bytes::clone(&self.frame.load())
    }

    /// Notes how many gateways live, and returns the frame that says so if it is news.
    pub fn set_gateways(&self, gateways: u32) -> Option<Bytes> {
        let current = self.current.load();
        if current.gateways == gateways {
            return None;
        }
        let topology = Topology { gateways, ..Topology::clone(&current) };
        let frame = push_frame(&topology);
        self.frame.store(frame.clone().into());
        self.current.store(topology.into());
        Some(frame)
    }
}

fn push_frame(topology: &Topology) -> Bytes {
    let mut frame = Vec::new();
    Reply::Topology(topology.to_json().into()).encode(0, &mut frame);
    frame.into()
}
