//! Who is inside, counted together and by address.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use parking_lot::Mutex;

use crate::observe::door::{DoorTally, Refusal};

/// How many may be inside at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CrowdBounds {
    /// All together.
    pub total_max: usize,
    /// Of one address; of an IPv6 /64, which is one machine or household.
    pub per_address_max: usize,
}

impl CrowdBounds {
    /// Fewer, where people and their tools come in: an answer there costs more than one to a gateway.
    pub fn of_people(self) -> CrowdBounds {
        let total_max = self.total_max.min(PEOPLE_MAX);
        CrowdBounds { total_max, per_address_max: self.per_address_max.min(total_max / 4 * 3).max(1) }
    }
}

/// Connections of people and their tools.
const PEOPLE_MAX: usize = 256;

impl fmt::Display for CrowdBounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CrowdBounds { total_max, per_address_max } = self;
        write!(f, "at most {total_max} connections are accepted, {per_address_max} of one address")
    }
}

/// Those inside.
#[derive(Debug)]
pub struct Crowd {
    bounds: CrowdBounds,
    by_address: Mutex<BTreeMap<u128, usize>>,
    tally: Arc<DoorTally>,
}

/// A place inside, given up when dropped, on whichever thread.
#[derive(Debug)]
pub struct Place {
    crowd: Arc<Crowd>,
    address: u128,
}

impl Crowd {
    /// Nobody yet.
    pub fn new(bounds: CrowdBounds, tally: Arc<DoorTally>) -> Crowd {
        Crowd { bounds, by_address: Mutex::default(), tally }
    }

    /// How many may be inside.
    pub fn bounds(&self) -> CrowdBounds {
        self.bounds
    }

    /// Takes a place.
    ///
    /// # Errors
    /// There is none, or none for this address.
    pub fn enter(self: &Arc<Crowd>, address: IpAddr) -> Result<Place, Refusal> {
        let address = one_of(address);
        let mut by_address = self.by_address.lock();
        if self.tally.open.load(Ordering::Relaxed) >= self.bounds.total_max {
            return Err(Refusal::Full);
        }
        let inside = by_address.entry(address).or_default();
        if *inside >= self.bounds.per_address_max {
            return Err(Refusal::AddressFull);
        }
        *inside += 1;
        self.tally.open.fetch_add(1, Ordering::Relaxed);
        Ok(Place { crowd: Arc::clone(self), address })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut by_address = self.crowd.by_address.lock();
        if let Some(inside) = by_address.get_mut(&self.address) {
            *inside -= 1;
            if *inside == 0 {
                by_address.remove(&self.address);
            }
        }
        self.crowd.tally.open.fetch_sub(1, Ordering::Relaxed);
    }
}

/// What counts as one: an IPv4 address however it is written, or the first half of an IPv6 one.
fn one_of(address: IpAddr) -> u128 {
    match address.to_canonical() {
        IpAddr::V4(address) => address.to_ipv6_mapped().to_bits(),
        IpAddr::V6(address) => address.to_bits() & !u128::from(u64::MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::door::Door;

    fn crowd(total_max: usize, per_address_max: usize) -> Arc<Crowd> {
        Arc::new(Crowd::new(CrowdBounds { total_max, per_address_max }, Arc::new(DoorTally::new(Door::Native))))
    }

    fn enter(crowd: &Arc<Crowd>, address: &str) -> Result<Place, Refusal> {
        crowd.enter(address.parse().unwrap())
    }

    #[test]
    fn one_address_leaves_places_for_the_others() {
        let crowd = crowd(3, 2);
        let _inside = [enter(&crowd, "10.0.0.1").unwrap(), enter(&crowd, "10.0.0.1").unwrap()];
        assert_eq!(enter(&crowd, "10.0.0.1").unwrap_err(), Refusal::AddressFull);
        assert_eq!(enter(&crowd, "::ffff:10.0.0.1").unwrap_err(), Refusal::AddressFull);
        let other = enter(&crowd, "10.0.0.2").unwrap();
        assert_eq!(enter(&crowd, "10.0.0.3").unwrap_err(), Refusal::Full);
        drop(other);
        assert!(enter(&crowd, "10.0.0.3").is_ok());
    }

    #[test]
    fn a_machine_with_a_network_of_its_own_is_one_address() {
        let crowd = crowd(9, 1);
        let _inside = enter(&crowd, "2001:db8:1:2::1").unwrap();
        assert_eq!(enter(&crowd, "2001:db8:1:2:ffff::9").unwrap_err(), Refusal::AddressFull);
        assert!(enter(&crowd, "2001:db8:1:3::1").is_ok());
    }

    #[test]
    fn who_leaves_is_forgotten() {
        let crowd = crowd(9, 9);
        for last in 0..=255 {
            drop(enter(&crowd, &format!("10.0.0.{last}")).unwrap());
        }
        assert!(crowd.by_address.lock().is_empty());
        assert_eq!(crowd.tally.open.load(Ordering::Relaxed), 0);
    }
}
