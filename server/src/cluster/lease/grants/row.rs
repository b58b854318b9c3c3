//! What a leader knows of one owner.

use super::super::length::Length;
use super::super::message::Refusal;
use super::damping::Damping;

/// One owner's leases, as its leader counts them.
#[derive(Debug, Default)]
pub(super) struct Row {
    holder: Holder,
    /// The epoch of the last lease.
    epoch: u64,
    /// The instant after which none lasts.
    until_us: u64,
    /// The instant after which none lasts that was granted under an epoch before `epoch`.
    before_until_us: u64,
    /// It is being given up.
    pub(super) condemned: bool,
    damping: Damping,
}

/// Which start of the node was granted the last lease.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Holder {
    #[default]
    Nobody,
    Tenure(u64),
    /// It has decided for the last time.
    GaveBack(u64),
}

impl Row {
    /// A new member owns nothing until all agree, and has as long as a lease lasts to ask for one.
    pub(super) fn joined(now_us: u64) -> Row {
        Row { until_us: now_us.saturating_add(Length::LONGEST.leader_us()), ..Row::default() }
    }

    /// Whether it may be granted a lease. A node that starts anew has lost what it counted: while the others rely on it, its
    /// replica is to serve in its place first.
    pub(super) fn admit(&self, now_us: u64, tenure: u64, is_down: bool) -> Result<(), Refusal> {
        if self.condemned {
            return Err(Refusal::Condemned);
        }
        match self.holder {
            Holder::Nobody => Ok(()),
            Holder::Tenure(holder) if holder == tenure => Ok(()),
            Holder::GaveBack(holder) if holder == tenure => Err(Refusal::Predecessor),
            Holder::Tenure(_) | Holder::GaveBack(_) if is_down && now_us > self.until_us => Ok(()),
            Holder::Tenure(_) | Holder::GaveBack(_) => Err(Refusal::Predecessor),
        }
    }

    /// Notes a lease that is granted now.
    pub(super) fn granted(&mut self, now_us: u64, tenure: u64, epoch: u64, length: Length) {
        if epoch > self.epoch {
            (self.before_until_us, self.epoch) = (self.until_us, epoch);
        }
        self.holder = Holder::Tenure(tenure);
        self.until_us = self.until_us.max(now_us.saturating_add(length.leader_us()));
    }

    /// Notes that a tenure has ended, unless it was another one's.
    pub(super) fn take_back(&mut self, tenure: u64) {
        if self.holder == Holder::Tenure(tenure) {
            (self.holder, self.until_us, self.before_until_us) = (Holder::GaveBack(tenure), 0, 0);
        }
    }

    pub(super) fn heard(&mut self, now_us: u64) {
        self.damping.heard(now_us);
    }

    pub(super) fn went_down(&mut self, now_us: u64) {
        self.condemned = false;
        self.damping.went_down(now_us);
    }

    pub(super) fn may_return(&self, now_us: u64) -> bool {
        self.damping.may_return(now_us)
    }

    pub(super) fn until_us(&self) -> u64 {
        self.until_us
    }

    /// The instant after which none lasts that was granted under an epoch before this one, the newest.
    pub(super) fn before_until_us(&self, epoch: u64) -> u64 {
        if self.epoch < epoch { self.until_us } else { self.before_until_us }
    }
}
