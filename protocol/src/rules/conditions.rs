//! Which requests a rule is for.

use super::address::Network;
use super::facts::Facts;
use super::route::{Route, RouteClass};

/// What all must be true of a request.
#[derive(Clone, Debug, Default)]
pub(crate) struct Conditions {
    pub(crate) client: Option<Box<str>>,
    pub(crate) tenant: Option<Box<str>>,
    pub(crate) tier: Option<Box<str>>,
    pub(crate) route: Option<Route>,
    pub(crate) ip: Option<Network>,
    /// Names in lower case, and values.
    pub(crate) headers: Vec<(Box<str>, Box<str>)>,
    pub(crate) attributes: Vec<(Box<str>, Box<str>)>,
}

/// How specific conditions are; the greater wins. Fields in the order in which they decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Specificity {
    identity: Identity,
    route: Option<RouteClass>,
    segments: usize,
    method: bool,
    others: usize,
    rank: i32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Identity {
    Anybody,
    Tier,
    Tenant,
    Client,
}

impl Conditions {
    /// Whether they hold, where the route is known to match.
    pub(crate) fn hold_without_route(&self, facts: &Facts<'_>) -> bool {
        is_met(self.client.as_deref(), facts.client)
            && is_met(self.tenant.as_deref(), facts.tenant)
            && is_met(self.tier.as_deref(), facts.tier)
            && self.ip.is_none_or(|network| facts.address.is_some_and(|address| network.contains(address)))
            && self.headers.iter().all(|(name, value)| facts.header(name) == Some(&**value))
            && self.attributes.iter().all(|(name, value)| facts.attribute(name) == Some(&**value))
    }

    pub(crate) fn specificity(&self, rank: i32) -> Specificity {
        let identity = self.identity();
        let route = self.route.as_ref();
        Specificity {
            identity,
            route: route.map(Route::class),
            segments: route.map_or(0, |route| route.segments().len()),
            method: route.is_some_and(|route| route.method().is_some()),
            others: self.others(identity),
            rank,
        }
    }

    fn identity(&self) -> Identity {
        match (&self.client, &self.tenant, &self.tier) {
            (Some(_), _, _) => Identity::Client,
            (None, Some(_), _) => Identity::Tenant,
            (None, None, Some(_)) => Identity::Tier,
            (None, None, None) => Identity::Anybody,
        }
    }

    /// Fields besides the route and the one that says whose rule it is.
    fn others(&self, identity: Identity) -> usize {
        let named = [&self.client, &self.tenant, &self.tier].into_iter().flatten().count();
        let counted = usize::from(identity != Identity::Anybody);
        named - counted + usize::from(self.ip.is_some()) + self.headers.len() + self.attributes.len()
    }
}

fn is_met(wanted: Option<&str>, found: Option<&str>) -> bool {
    wanted.is_none_or(|wanted| found == Some(wanted))
}
