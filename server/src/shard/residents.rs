//! The connections that live on a shard: how to reach each, what it came in by, when it was last heard.

use std::collections::BTreeMap;
use std::sync::Arc;

use tallyring_protocol::GoodbyeCode;

use super::outlet::{Outgoing, Outlet};
use crate::observe::door::{Door, DoorTallies, Refusal};
use crate::tokens::{LiveTokens, Pass};

/// A connection that lives here.
#[derive(Debug)]
struct Resident {
    door: Door,
    outlet: Arc<Outlet>,
    /// `None` until it has said who it is, where a protocol lets it connect first.
    pass: Option<Pass>,
    is_told_to_go: bool,
}

/// The connections, by the order they came in.
#[derive(Debug, Default)]
pub(super) struct Residents {
    by_ticket: BTreeMap<u64, Resident>,
    arrivals: u64,
}

/// Why a connection is told to go when its token is exchanged.
const TOKEN_GONE: &str = "the token is none of this node's any more";

/// Why a connection is told to go that asks for nothing.
const IDLE: &str = "the connection has asked for nothing for too long";

impl Residents {
    /// Takes a connection in and says what it goes by here.
    pub(super) fn enter(&mut self, door: Door, outlet: &Arc<Outlet>, pass: Option<Pass>) -> u64 {
        self.arrivals += 1;
        let resident = Resident { door, outlet: Arc::clone(outlet), pass, is_told_to_go: false };
        self.by_ticket.insert(self.arrivals, resident);
        self.arrivals
    }

    /// A connection has ended.
    pub(super) fn leave(&mut self, ticket: u64) {
        self.by_ticket.remove(&ticket);
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.by_ticket.len()
    }

    /// Leaves the same for all of them.
    pub(super) fn tell_everybody(&self, what: impl Fn() -> Outgoing) {
        self.by_ticket.values().for_each(|resident| resident.outlet.push(what()));
    }

    /// A connection has shown another token, or is to be as one that has shown none.
    pub(super) fn show(&mut self, ticket: u64, pass: Option<Pass>) {
        if let Some(resident) = self.by_ticket.get_mut(&ticket) {
            resident.pass = pass;
        }
    }

    /// Tells those to go whose pass is not valid any more.
    pub(super) fn expel(&mut self, tokens: &LiveTokens, doors: &DoorTallies) {
        let goodbye = (GoodbyeCode::Unauthorized, TOKEN_GONE);
        self.dismiss(goodbye, Refusal::Unauthorized, doors, |resident| {
            resident.pass.is_some_and(|pass| !tokens.allows(&pass))
        });
    }

    /// Tells those to go that were last heard before the tick `since`.
    pub(super) fn dismiss_idle(&mut self, since: u64, doors: &DoorTallies) {
        let goodbye = (GoodbyeCode::Slow, IDLE);
        self.dismiss(goodbye, Refusal::Idle, doors, |resident| resident.outlet.heard() < since);
    }

    fn dismiss(
        &mut self,
        (code, reason): (GoodbyeCode, &'static str),
        refusal: Refusal,
        doors: &DoorTallies,
        is_to_go: impl Fn(&Resident) -> bool,
    ) {
        for resident in self.by_ticket.values_mut().filter(|resident| !resident.is_told_to_go) {
            if is_to_go(resident) {
                resident.outlet.push(Outgoing::Goodbye(code, reason));
                resident.is_told_to_go = true;
                doors.of(resident.door).count(refusal);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokens::{TokenHash, Tokens};

    fn tokens(client: &str) -> LiveTokens {
        LiveTokens::new(Tokens { client: vec![TokenHash::of(client)], ..Tokens::default() })
    }

    fn goodbye(outlet: &Outlet) -> Option<GoodbyeCode> {
        match outlet.pop()? {
            Outgoing::Goodbye(code, _) => Some(code),
            _ => None,
        }
    }

    #[test]
    fn those_go_whose_token_went_and_are_told_once() {
        let (old, new, doors) = (tokens("old"), tokens("new"), DoorTallies::default());
        let mut residents = Residents::default();
        let outlets: [Arc<Outlet>; 3] = Default::default();
        residents.enter(Door::Native, &outlets[0], old.pass_of("old"));
        residents.enter(Door::Native, &outlets[1], new.pass_of("new"));
        let late = residents.enter(Door::Resp, &outlets[2], None);
        residents.expel(&new, &doors);
        residents.expel(&new, &doors);
        assert_eq!(outlets.each_ref().map(|outlet| goodbye(outlet)), [Some(GoodbyeCode::Unauthorized), None, None]);
        assert!(outlets[0].pop().is_none(), "once is enough");
        residents.show(late, old.pass_of("old"));
        residents.expel(&new, &doors);
        assert_eq!(goodbye(&outlets[2]), Some(GoodbyeCode::Unauthorized));
        let refused = |door| doors.of(door).refused(Refusal::Unauthorized);
        assert_eq!((refused(Door::Native), refused(Door::Resp)), (1, 1));
    }

    #[test]
    fn those_go_that_ask_for_nothing() {
        let (mut residents, doors) = (Residents::default(), DoorTallies::default());
        let outlets: [Arc<Outlet>; 2] = Default::default();
        for (outlet, tick) in outlets.iter().zip([100, 200]) {
            residents.enter(Door::Native, outlet, None);
            outlet.hear(tick);
        }
        residents.dismiss_idle(150, &doors);
        assert_eq!(outlets.each_ref().map(|outlet| goodbye(outlet)), [Some(GoodbyeCode::Slow), None]);
        assert_eq!(doors.of(Door::Native).refused(Refusal::Idle), 1);
        residents.leave(1);
        residents.dismiss_idle(150, &doors);
        assert_eq!((residents.len(), doors.of(Door::Native).refused(Refusal::Idle)), (1, 1));
    }
}
