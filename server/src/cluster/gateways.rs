//! Which gateways are alive: a local fallback divides its limit by their number.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;

/// The gateways connected to this node, by the instance id of their hello.
#[derive(Debug, Default)]
pub struct Gateways {
    connections: Mutex<BTreeMap<u128, usize>>,
    changed: Notify,
}

/// One connection of a gateway; the gateway is alive while any of its is held.
#[derive(Debug)]
pub struct Presence {
    gateways: Arc<Gateways>,
    instance: u128,
}

impl Gateways {
    /// Counts a connection of `instance`.
    pub fn join(self: &Arc<Self>, instance: u128) -> Presence {
        let mut connections = self.connections.lock();
        let count = connections.entry(instance).or_default();
        *count += 1;
        if *count == 1 {
            self.changed.notify_one();
        }
        Presence { gateways: Arc::clone(self), instance }
    }

    /// Distinct gateways alive, at least 1: whoever asks is one.
    pub fn live(&self) -> u32 {
        u32::try_from(self.connections.lock().len()).unwrap_or(u32::MAX).max(1)
    }

    /// Waits until a gateway came or went since the last wait.
    pub async fn changed(&self) {
        self.changed.notified().await;
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        let mut connections = self.gateways.connections.lock();
        let Some(count) = connections.get_mut(&self.instance) else { return };
        *count -= 1;
        if *count == 0 {
            connections.remove(&self.instance);
            self.gateways.changed.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gateway_counts_once_however_many_connections_it_has() {
        let gateways = Arc::new(Gateways::default());
        let first = gateways.join(7);
        let second = gateways.join(7);
        let other = gateways.join(8);
        assert_eq!(gateways.live(), 2);
        drop((first, other));
        assert_eq!(gateways.live(), 1);
        drop(second);
        assert_eq!(gateways.live(), 1, "whoever asks is one");
        assert!(gateways.connections.lock().is_empty());
    }
}
