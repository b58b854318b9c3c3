//! Who is inside, counted together and by address.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use super::line::{Line, Standing};
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

/// What becomes of somebody for whom there is no place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenFull {
    /// They are turned away: whoever is inside is being served.
    Refuse,
    /// Whoever inside has shown no sign of life for longest has to go, of their own address if that one is full:
    /// connections that are held open for nothing keep nobody out.
    OustIdlest,
}

/// Those inside.
#[derive(Debug)]
pub struct Crowd {
    bounds: CrowdBounds,
    when_full: WhenFull,
    inside: Mutex<Inside>,
    /// Signs of life so far.
    signs: AtomicU64,
    tally: Arc<DoorTally>,
}

#[derive(Debug, Default)]
struct Inside {
    by_address: BTreeMap<u128, usize>,
    /// Everybody, where they have to make room; else nobody.
    line: Line,
}

/// A place inside, given up when dropped, on whichever thread.
#[derive(Debug)]
pub struct Place {
    crowd: Arc<Crowd>,
    address: u128,
    /// Where they stand in the line, and how they learn that they have to go.
    standing: Option<Arc<Standing>>,
}

impl Crowd {
    /// Nobody yet.
    pub fn new(bounds: CrowdBounds, when_full: WhenFull, tally: Arc<DoorTally>) -> Crowd {
        Crowd { bounds, when_full, inside: Mutex::default(), signs: AtomicU64::new(0), tally }
    }

    /// How many may be inside.
    pub fn bounds(&self) -> CrowdBounds {
        self.bounds
    }

    /// Takes a place, perhaps somebody else's.
    ///
    /// # Errors
    /// There is none, or none for this address.
    pub fn enter(self: &Arc<Crowd>, address: IpAddr) -> Result<Place, Refusal> {
        let address = one_of(address);
        let mut inside = self.inside.lock();
        if inside.of(address) >= self.bounds.per_address_max {
            self.make_room(&mut inside, Some(address)).ok_or(Refusal::AddressFull)?;
        }
        if self.tally.open.load(Ordering::Relaxed) >= self.bounds.total_max {
            self.make_room(&mut inside, None).ok_or(Refusal::Full)?;
        }
        *inside.by_address.entry(address).or_default() += 1;
        self.tally.open.fetch_add(1, Ordering::Relaxed);
        let standing = (self.when_full == WhenFull::OustIdlest).then(|| inside.line.join(address, self.sign()));
        Ok(Place { crowd: Arc::clone(self), address, standing })
    }

    fn make_room(&self, inside: &mut Inside, of: Option<u128>) -> Option<()> {
        let address = inside.line.oust(of)?;
        self.tally.count(Refusal::Ousted);
        self.give_up(inside, address);
        Some(())
    }

    fn sign(&self) -> u64 {
        self.signs.fetch_add(1, Ordering::Relaxed)
    }

    fn give_up(&self, inside: &mut Inside, address: u128) {
        inside.take_from(address);
        self.tally.open.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Inside {
    fn of(&self, address: u128) -> usize {
        self.by_address.get(&address).copied().unwrap_or(0)
    }

    fn take_from(&mut self, address: u128) {
        if let Some(inside) = self.by_address.get_mut(&address) {
            *inside -= 1;
            if *inside == 0 {
                self.by_address.remove(&address);
            }
        }
    }
}

impl Place {
    /// Notes a sign of life: others have to make room first.
    pub fn show(&self) {
        if let Some(standing) = &self.standing {
            standing.show(self.crowd.sign());
        }
    }

    /// Waits until this place is needed for somebody else: for ever, where nobody is ousted.
    pub async fn ousted(&self) {
        match &self.standing {
            Some(standing) => standing.ousted().cancelled().await,
            None => std::future::pending().await,
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut inside = self.crowd.inside.lock();
        let is_ours = match &self.standing {
            Some(standing) => inside.line.leave(standing),
            None => true,
        };
        if is_ours {
            self.crowd.give_up(&mut inside, self.address);
        }
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
        crowd_that(WhenFull::Refuse, total_max, per_address_max)
    }

    fn crowd_that(when_full: WhenFull, total_max: usize, per_address_max: usize) -> Arc<Crowd> {
        let tally = Arc::new(DoorTally::new(Door::Native));
        Arc::new(Crowd::new(CrowdBounds { total_max, per_address_max }, when_full, tally))
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
        assert!(crowd.inside.lock().by_address.is_empty());
        assert_eq!(crowd.tally.open.load(Ordering::Relaxed), 0);
    }

    fn is_ousted(place: &Place) -> bool {
        place.standing.as_ref().is_some_and(|standing| standing.ousted().is_cancelled())
    }

    #[test]
    fn who_has_been_silent_longest_makes_room_for_a_newcomer() {
        let crowd = crowd_that(WhenFull::OustIdlest, 2, 2);
        let (first, second) = (enter(&crowd, "10.0.0.1").unwrap(), enter(&crowd, "10.0.0.2").unwrap());
        first.show();
        let third = enter(&crowd, "10.0.0.3").unwrap();
        assert_eq!([&first, &second, &third].map(is_ousted), [false, true, false]);
        assert_eq!((crowd.tally.open.load(Ordering::Relaxed), crowd.tally.refused(Refusal::Ousted)), (2, 1));
        second.show(); // too late
        drop((first, second, third));
        assert_eq!(crowd.tally.open.load(Ordering::Relaxed), 0, "a place that was taken away is not given up again");
        assert!(crowd.inside.lock().by_address.is_empty());
    }

    #[test]
    fn an_address_that_is_full_makes_room_itself() {
        let crowd = crowd_that(WhenFull::OustIdlest, 3, 2);
        let other = enter(&crowd, "10.0.0.9").unwrap();
        let (first, second) = (enter(&crowd, "10.0.0.1").unwrap(), enter(&crowd, "10.0.0.1").unwrap());
        let third = enter(&crowd, "10.0.0.1").unwrap();
        assert_eq!([&other, &first, &second, &third].map(is_ousted), [false, true, false, false]);
        assert_eq!(crowd.tally.open.load(Ordering::Relaxed), 3);
    }
}
