//! A turn of a RESP connection: everything that one read brought, decided in order under one reading of the clock.

use std::sync::Arc;

use bytes::{Buf, BytesMut};
use tallyring_engine::{Identity, Timestamp};
use tallyring_protocol::{RawKey, Reply};

use super::session::Session;
use crate::door::resp::asked::Asked;
use crate::door::resp::catalogue;
use crate::door::resp::command::{Command, Decide};
use crate::door::resp::parse::{self, Args, Piece, ProtocolError};
use crate::door::resp::write;
use crate::observe::door::{Door, Refusal};
use crate::shard::Shard;
use crate::shard::command::Errand;
use crate::shard::numbers::Place;
use crate::shard::stage::Stage;
use crate::shard::turn::{COMMANDS_PER_TURN_MAX, Route, Turn};

/// What a turn of any RESP connection needs, empty between turns.
#[derive(Debug)]
pub(in crate::shard) struct Scratch {
    stage: Stage<Asked>,
    /// Commands that were sent to other shards since the stage was empty: before which of the staged ones each came.
    gaps: Vec<(usize, Asked)>,
}

impl Scratch {
    pub(in crate::shard) fn new() -> Scratch {
        Scratch { stage: Stage::new(), gaps: Vec::new() }
    }
}

impl Shard {
    /// Decides the commands at the front of `inbox`; the answers are in the session.
    pub(super) fn resp_turn(&mut self, session: &mut Session, inbox: &mut BytesMut) -> Turn {
        if inbox.is_empty() || session.is_over || session.is_backed_up() {
            return Turn::Done;
        }
        let began_us = self.clock.now_us();
        let now = self.engine.advance(Timestamp::from_micros(began_us));
        let (turn, taken, commands) = self.take_commands(session, inbox, now);
        self.decide_resp(now, session);
        self.end_turn(Door::Resp, &session.way.outlet, began_us, commands as u64);
        inbox.advance(taken);
        turn
    }

    /// Handles commands until their bytes or the turn end; how many bytes they took, and how many they were.
    fn take_commands(&mut self, session: &mut Session, bytes: &[u8], now: Timestamp) -> (Turn, usize, usize) {
        let (mut taken, mut pieces, mut commands) = (0, 0, 0);
        let mut args = Args::new();
        let turn = loop {
            if pieces == COMMANDS_PER_TURN_MAX {
                break Turn::More;
            }
            let accepted = match parse::split(&bytes[taken..], session.bounds(), &mut args) {
                Ok(None) => break Turn::Done,
                Ok(Some((piece, len))) => {
                    taken += len;
                    pieces += 1;
                    // An empty line asks for nothing: whoever sends nothing else is idle.
                    commands += usize::from(!piece.is_empty(&args));
                    self.accept_piece(piece, &args, now, session)
                }
                Err(error) => Err(error),
            };
            if let Err(error) = accepted {
                self.end_of_sense(error, now, session);
            }
            if session.is_over || session.is_backed_up() {
                break Turn::Done;
            }
        };
        (turn, taken, commands)
    }

    #[cold]
    fn end_of_sense(&mut self, error: ProtocolError, now: Timestamp, session: &mut Session) {
        self.doors.of(Door::Resp).count(Refusal::Malformed);
        self.decide_resp(now, session);
        session.replies.answer(|out| write::error(out, &error));
        session.is_over = true;
    }

    #[inline]
    fn accept_piece(
        &mut self,
        piece: Piece<'_>,
        args: &[&[u8]],
        now: Timestamp,
        session: &mut Session,
    ) -> Result<(), ProtocolError> {
        match piece {
            Piece::Array => self.accept_command(args, now, session),
            Piece::Line(line) => {
                let words = parse::words(line, session.bounds().args_max)?;
                let args: Args<'_> = words.iter().map(Vec::as_slice).collect();
                self.accept_command(&args, now, session);
            }
        }
        Ok(())
    }

    /// Stages a command if it is a decision of this shard; else answers it, after what is staged.
    #[inline]
    fn accept_command(&mut self, args: &[&[u8]], now: Timestamp, session: &mut Session) {
        let Some(name) = args.first() else { return };
        if session.pass.is_none() && !catalogue::is_open(name) {
            return session.replies.answer(|out| out.extend_from_slice(b"-NOAUTH Authentication required.\r\n"));
        }
        match Command::read(args) {
            Ok(Command::Decide(decide)) => self.stage_resp(&decide, now, session),
            Ok(rare) => {
                self.decide_resp(now, session);
                self.accept_rare_command(&rare, now, session);
            }
            Err(error) => {
                self.decide_resp(now, session);
                session.replies.answer(|out| write::error(out, &error));
            }
        }
    }

    /// Brings a command's key closer if it is this shard's; else sends the command to the shard whose it is.
    #[inline]
    fn stage_resp(&mut self, decide: &Decide<'_>, now: Timestamp, session: &mut Session) {
        let Decide { key, limit, op, asked } = *decide;
        let key = RawKey::new(key).expect("a command's key has been measured");
        let Some(place) = self.numbers_of(limit, now, session) else {
            return self.answer_resp(asked, &Reply::Full, now, session);
        };
        let placement = self.seeds.placement.place(key.as_ref());
        let route = self.route(placement.0);
        if route != Route::Here {
            let definition = Arc::clone(&self.numbers.get(place).definition);
            let errand = Errand::Decide(key.as_ref().to_key(), definition, op);
            return self.forward_resp(asked, errand, route, now, session);
        }
        let handle = self.numbers.get(place);
        let identity = self.seeds.identity.identity(key.as_ref(), handle.algorithm);
        self.resp.stage.push(asked, Identity { placement: placement.0, identity }, handle.id, op);
        if self.resp.stage.is_full() {
            self.decide_resp(now, session);
        }
    }

    /// The numbers of a command, interned. Newcomers take the place of others, under which nothing may be undecided then.
    #[inline]
    pub(super) fn numbers_of(
        &mut self,
        limit: tallyring_engine::Limit,
        now: Timestamp,
        session: &mut Session,
    ) -> Option<Place> {
        if let Some(place) = self.numbers.find(&limit) {
            return Some(place);
        }
        self.decide_resp(now, session);
        self.numbers.intern(&mut self.engine, limit, self.quota)
    }

    /// Leaves a command for another shard or node, and a gap among the answers.
    pub(super) fn forward_resp(
        &mut self,
        asked: Asked,
        errand: Errand,
        route: Route,
        now: Timestamp,
        session: &mut Session,
    ) {
        let number = session.replies.upcoming();
        let refused = match route {
            Route::Here => unreachable!("what is decided here is not forwarded"),
            Route::Sibling(shard) => self.forward(number, errand, shard, &mut session.way),
            Route::Abroad(placement) => self.send_abroad(number, errand, placement, &mut session.way),
        };
        match refused {
            None => {
                session.replies.sent();
                self.resp.gaps.push((self.resp.stage.len(), asked));
            }
            Some(refused) => self.answer_resp(asked, &refused, now, session),
        }
    }

    /// Answers at once, behind what is staged.
    pub(super) fn answer_resp(&mut self, asked: Asked, reply: &Reply<'_>, now: Timestamp, session: &mut Session) {
        self.decide_resp(now, session);
        session.replies.answer(|out| asked.write(reply, out));
    }

    /// Decides what is staged, and leaves gaps for what other shards decide.
    pub(super) fn decide_resp(&mut self, now: Timestamp, session: &mut Session) {
        let Scratch { stage, gaps } = &mut self.resp;
        let mut gaps = gaps.drain(..).peekable();
        let mut staged = 0;
        stage.decide(&mut self.engine, now, |asked, reply| {
            while let Some((_, asked)) = gaps.next_if(|(before, _)| *before <= staged) {
                session.replies.hold(asked);
            }
            session.replies.answer(|out| asked.write(&reply, out));
            staged += 1;
        });
        gaps.for_each(|(_, asked)| session.replies.hold(asked));
    }
}
