//! A turn: everything that one read brought, decided in arrival order under one reading of the clock.

use std::sync::Arc;

use bytes::{Buf, BytesMut};
use tallyring_engine::{Ask, Identity, Timestamp};
use tallyring_protocol::bounds::REQUEST_BYTES_MAX;
use tallyring_protocol::{
    AlgorithmCode, Charge, Define, Frame, FrameError, KeyRef, Malformed, Placement, Refund, Reply, Request, Role,
    frame, shard_of,
};

use super::Shard;
use super::apply::apply;
use super::command::{Definition, Envelope, Errand, Op};
use super::outlet::{Outgoing, Outlet};
use super::refusal::{Answer, Refusal};
use super::session::{Session, WayBack};
use crate::limits::code_of;
use crate::observe::door::Door;

/// Frames that one turn of a connection decides before the others have theirs.
pub(super) const COMMANDS_PER_TURN_MAX: usize = 512;

/// Where a command is decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Route {
    /// On this shard.
    Here,
    /// On another shard of this node.
    Sibling(u16),
    /// On another node.
    Abroad(Placement),
}

/// Whether a turn has left frames undecided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// The rest of the bytes, if any, is the beginning of a frame.
    Done,
    /// The turn ended at its bound.
    More,
}

impl Shard {
    /// Decides the frames at the front of `inbox` and appends the replies to `outbox`.
    ///
    /// # Errors
    /// A length that no frame can have. What came before it is decided and answered.
    pub(super) fn turn(
        &mut self,
        session: &mut Session,
        inbox: &mut BytesMut,
        outbox: &mut Vec<u8>,
    ) -> Result<Turn, FrameError> {
        if inbox.is_empty() {
            return Ok(Turn::Done);
        }
        let began_us = self.clock.now_us();
        let now = self.engine.advance(Timestamp::from_micros(began_us));
        let mut taken = 0;
        let mut frames = 0;
        let ended = loop {
            if frames == COMMANDS_PER_TURN_MAX {
                break Ok(Turn::More);
            }
            match frame::split(&inbox[taken..], REQUEST_BYTES_MAX) {
                Ok(Some((frame, len))) => {
                    taken += len;
                    frames += 1;
                    self.accept(&frame, now, session, outbox);
                }
                Ok(None) => break Ok(Turn::Done),
                Err(error) => break Err(error),
            }
        };
        self.decide_staged(now, outbox);
        self.end_turn(Door::Native, &session.way.outlet, began_us, frames as u64);
        inbox.advance(taken);
        ended
    }

    /// Counts what was decided and how long it took: all of a turn is answered when its last command is decided.
    pub(super) fn end_turn(&mut self, door: Door, outlet: &Outlet, began_us: u64, requests: u64) {
        if requests == 0 {
            return; // half a frame is nothing asked
        }
        let took_us = self.clock.now_us().saturating_sub(began_us);
        self.tally.frames += requests;
        self.turns.observe(took_us, 1);
        self.requests[door as usize].observe(took_us, requests);
        outlet.hear(self.tick);
    }

    /// Stages a frame if it is a decision of this shard; else answers it, after what is staged.
    #[inline]
    fn accept(&mut self, frame: &Frame<'_>, now: Timestamp, session: &mut Session, outbox: &mut Vec<u8>) {
        let decided = match Request::decode(frame) {
            Ok(Request::Check(charge)) => self.check(frame.id, &charge, session),
            Ok(Request::Take(charge)) => self.take(frame.id, &charge, session),
            Ok(Request::Refund(refund)) => self.refund(frame.id, &refund, session),
            Ok(Request::Ping) => Ok(Some(Reply::Pong)),
            Ok(rare) => {
                self.decide_staged(now, outbox);
                self.accept_rare(frame.id, &rare, now, session)
            }
            Err(malformed) => Err(malformed.into()),
        };
        match decided {
            Ok(None) => {}
            Ok(Some(reply)) => reply.encode(frame.id, outbox),
            Err(refusal) => refusal.into_reply().encode(frame.id, outbox),
        }
        if self.stage.is_full() {
            self.decide_staged(now, outbox);
        }
    }

    /// Decides a request that is not staged. Out of line: a check's turn must not pay for it.
    #[inline(never)]
    fn accept_rare(&mut self, id: u32, request: &Request<'_>, now: Timestamp, session: &mut Session) -> Answer {
        match request {
            Request::CheckAll(parts) => self.check_all(id, *parts, now, session),
            Request::Reserve(reserve) => self.reserve(id, reserve, now, session),
            Request::Settle(settle) => self.settle(id, settle, now, &mut session.way),
            Request::Acquire(acquire) => self.acquire(id, acquire, now, &mut session.way),
            Request::Release(release) => self.release(id, release, now, &mut session.way),
            Request::Reset(key) => self.reset(id, *key, now, session),
            Request::Define(define) => Ok(Some(self.define(define, session))),
            Request::GetRules => self.get_rules(id, session),
            Request::Report(report) => {
                self.locals.add(report);
                Ok(Some(Reply::Reported))
            }
            Request::Ping | Request::Check(_) | Request::Take(_) | Request::Refund(_) => {
                unreachable!("accept has its own arms for what it stages")
            }
        }
    }

    #[inline]
    fn check(&mut self, id: u32, charge: &Charge<'_>, session: &mut Session) -> Answer {
        let ask = Ask::try_new(charge.cost, charge.keep, charge.force)?;
        self.stage(id, charge.handle, charge.key, Op::Check(ask), session)
    }

    fn take(&mut self, id: u32, charge: &Charge<'_>, session: &mut Session) -> Answer {
        let Ask { cost, keep, .. } = Ask::try_new(charge.cost, charge.keep, false)?;
        self.stage(id, charge.handle, charge.key, Op::Take { cost, keep }, session)
    }

    fn refund(&mut self, id: u32, refund: &Refund<'_>, session: &mut Session) -> Answer {
        let cost = Ask::try_new(refund.cost, 0, false)?.cost;
        let charged_at = match refund.charged_at_us {
            Some(us) if us > Timestamp::MAX.as_micros() => {
                return Err(Malformed::new("charged_at_us", "microseconds since the epoch, at most 2^53 - 1").into());
            }
            known => known.map(Timestamp::from_micros),
        };
        self.stage(id, refund.handle, refund.key, Op::Refund { cost, charged_at }, session)
    }

    /// Brings a command's key closer if it is this shard's; else sends the command to the shard whose it is.
    #[inline]
    fn stage(&mut self, id: u32, handle: u16, key: KeyRef<'_>, op: Op, session: &mut Session) -> Answer {
        let limit = session.handle(handle)?;
        let placement = self.seeds.placement.place(key);
        if !self.territory.holds(placement) {
            return Ok(Some(self.territory.refusal(placement)));
        }
        if shard_of(placement, self.shards()) != self.index {
            let errand = Errand::Decide(key.to_key(), Arc::clone(&limit.definition), op);
            return Ok(self.forward(id, errand, shard_of(placement, self.shards()), &mut session.way));
        }
        let identity =
            Identity { placement: placement.0, identity: self.seeds.identity.identity(key, limit.algorithm) };
        self.stage.push(id, identity, limit.id, op);
        Ok(None)
    }

    fn decide_staged(&mut self, now: Timestamp, outbox: &mut Vec<u8>) {
        self.stage.decide(&mut self.engine, now, |id, reply| reply.encode(id, outbox));
    }

    /// Where that placement is decided.
    pub(super) fn route(&self, placement: u64) -> Route {
        let placement = Placement(placement);
        match shard_of(placement, self.shards()) {
            _ if !self.territory.holds(placement) => Route::Abroad(placement),
            shard if shard == self.index => Route::Here,
            shard => Route::Sibling(shard),
        }
    }

    /// Runs an errand if its key is this shard's; else sends it to the shard whose it is.
    pub(super) fn run_or_forward(
        &mut self,
        id: u32,
        placement: u64,
        errand: Errand,
        now: Timestamp,
        way: &mut WayBack,
    ) -> Option<Reply<'static>> {
        match self.route(placement) {
            Route::Here => Some(self.run(errand, now)),
            Route::Sibling(shard) => self.forward(id, errand, shard, way),
            Route::Abroad(placement) => self.send_abroad(id, errand, placement, way),
        }
    }

    /// Leaves a command in another shard's mailbox; the reply comes through the connection's outlet.
    pub(super) fn forward(&mut self, id: u32, errand: Errand, shard: u16, way: &mut WayBack) -> Option<Reply<'static>> {
        if way.is_full() {
            return Some(Reply::Overloaded);
        }
        let envelope = Envelope { errand, id, reply_to: Arc::clone(&way.outlet) };
        if self.mailboxes[usize::from(shard)].push(super::Message::Command(envelope)).is_err() {
            self.tally.overloaded += 1;
            return Some(Reply::Overloaded);
        }
        self.tally.forwarded += 1;
        way.leave();
        None
    }

    fn define(&mut self, define: &Define<'_>, session: &mut Session) -> Reply<'static> {
        if define.algorithm == AlgorithmCode::Concurrency {
            let reason = "slots are acquired and released, and bring their numbers with them";
            return Reply::invalid(Malformed::new("algorithm", reason));
        }
        let definition = match Definition::from_wire(define, self.quota) {
            Ok(definition) => definition,
            Err(invalid) => return Refusal::from(invalid).into_reply(),
        };
        let Ok(id) = self.engine.intern_under(definition.rule(), definition.limit) else { return Reply::Full };
        if let Some(replaced) = session.define(define.handle, id, definition) {
            self.engine.release(replaced.id);
        }
        Reply::Defined
    }

    fn reset(&mut self, id: u32, key: KeyRef<'_>, now: Timestamp, session: &mut Session) -> Answer {
        if session.role != Role::Admin {
            return Err(Malformed::new("kind", "a reset needs an admin's token").into());
        }
        let placement = self.seeds.placement.place(key).0;
        Ok(self.run_or_forward(id, placement, Errand::Reset(key.to_key()), now, &mut session.way))
    }

    fn reset_here(&mut self, key: KeyRef<'_>, now: Timestamp) -> Reply<'static> {
        let mut found = false;
        for algorithm in AlgorithmCode::ALL {
            let identity = self.seeds.identify(key, algorithm);
            found |= self.engine.reset(now, identity);
        }
        Reply::ResetDone { found }
    }

    /// Decides a command that another thread sent, and says whose outlet is to be woken for the answer.
    pub(super) fn decide_envelope(&mut self, envelope: Envelope, now: Timestamp) -> Arc<Outlet> {
        let Envelope { errand, id, reply_to } = envelope;
        // Whoever sent it may have done so under another topology.
        if let Some(place) = errand.places(&self.seeds).find(|place| !self.territory.holds(*place)) {
            reply_to.leave(Outgoing::Reply(id, self.territory.refusal(place)));
            return reply_to;
        }
        reply_to.leave(self.outgoing(id, errand, now));
        reply_to
    }

    /// Does what an errand asks for; the answer, for whoever sent it.
    fn outgoing(&mut self, id: u32, errand: Errand, now: Timestamp) -> Outgoing {
        if let Errand::Peek(key) = &errand {
            return Outgoing::Stocks(id, self.peek(key.as_ref(), now));
        }
        let reservation = errand.reservation();
        let reply = self.run(errand, now);
        let ceiling = reservation.and_then(|reservation| self.engine.reserved_ceiling(now, reservation));
        match ceiling {
            Some(ceiling) => Outgoing::Reserved(id, reply, ceiling),
            None => Outgoing::Reply(id, reply),
        }
    }

    /// Does what an errand asks for, whose key is this shard's.
    fn run(&mut self, errand: Errand, now: Timestamp) -> Reply<'static> {
        match errand {
            Errand::Decide(key, definition, op) => self.decide_foreign(key.as_ref(), &definition, op, now),
            Errand::CheckAll(parts) => self.check_all_foreign(&parts, now),
            Errand::Reserve(definition, booking) => match self.guests.intern(&mut self.engine, &definition) {
                None => Reply::Full,
                Some(limit) => self.book(limit, &booking, now),
            },
            Errand::Settle { reservation, actual } => self.correct(reservation, actual, now),
            Errand::Acquire(claim) => self.hold(&claim, now),
            Errand::Release(holder) => self.let_go(holder, now),
            Errand::Reset(key) => self.reset_here(key.as_ref(), now),
            Errand::Peek(_) => unreachable!("a look has an answer of its own"),
        }
    }

    fn decide_foreign(
        &mut self,
        key: KeyRef<'_>,
        definition: &Arc<Definition>,
        op: Op,
        now: Timestamp,
    ) -> Reply<'static> {
        let Some(limit) = self.guests.intern(&mut self.engine, definition) else { return Reply::Full };
        let identity = self.seeds.identify(key, code_of(definition.limit.algorithm()));
        apply(&mut self.engine, now, identity, limit, op)
    }
}
