//! Commands that are no check: decided when they are read, behind what is staged.

use std::sync::Arc;

use tallyring_engine::Timestamp;
use tallyring_protocol::{Acquire, RawKey, Release, Reply, Role, Settle};

use super::session::Session;
use crate::door::resp::asked::{Asked, Verb};
use crate::door::resp::command::{self, Client, Command, Commands, Hello, Reserve};
use crate::door::resp::info::{self, Facts};
use crate::door::resp::write::{self, Version};
use crate::door::resp::{catalogue, command::hello};
use crate::observe::door::{Door, Refusal};
use crate::shard::Shard;
use crate::shard::command::Errand;
use crate::shard::refusal::Answer;
use crate::shard::turn::Route;
use crate::tokens::Pass;

impl Shard {
    /// Decides a command that is not staged. Out of line: a check's turn must not pay for it.
    #[inline(never)]
    pub(super) fn accept_rare_command(&mut self, command: &Command<'_>, now: Timestamp, session: &mut Session) {
        match command {
            Command::Decide(_) => unreachable!("a decision is staged"),
            Command::Reserve(reserve) => self.reserve_resp(reserve, now, session),
            Command::Settle(settle) => self.settle_resp(*settle, now, session),
            Command::Acquire(acquire) => self.acquire_resp(*acquire, now, session),
            Command::Release(release) => self.release_resp(*release, now, session),
            Command::Forget(key) => self.forget_resp(key, now, session),
            Command::Hello(hello) => self.hello(hello, session),
            Command::Auth { token } => {
                if self.admit(token, session) {
                    session.replies.answer(|out| write::simple(out, "OK"));
                }
            }
            Command::Ping(None) => session.replies.answer(|out| write::simple(out, "PONG")),
            Command::Ping(Some(message)) | Command::Echo(message) => {
                session.replies.answer(|out| write::bulk(out, message));
            }
            Command::Client(client) => about(*client, session),
            Command::Commands(commands) => list(commands, session),
            Command::Info(sections) => {
                let text = info::text(&self.facts(), sections);
                session.replies.answer(|out| write::bulk(out, text.as_bytes()));
            }
            Command::Select => session.replies.answer(|out| write::simple(out, "OK")),
            Command::Reset => {
                session.reset(self.pass_without_token());
                self.residents.show(session.ticket, session.pass);
                session.replies.answer(|out| write::simple(out, "RESET"));
            }
            Command::Quit => {
                session.is_over = true;
                session.replies.answer(|out| write::simple(out, "OK"));
            }
        }
    }

    fn reserve_resp(&mut self, reserve: &Reserve<'_>, now: Timestamp, session: &mut Session) {
        let Reserve { key, id: name, ttl_us, limit, ask, asked } = *reserve;
        let key = raw(key);
        let Some(place) = self.numbers_of(limit, now, session) else {
            return self.answer_resp(asked, &Reply::Full, now, session);
        };
        let handle = self.numbers.get(place);
        let (limit, definition) = (handle.id, Arc::clone(&handle.definition));
        let booking = self.booking(key.as_ref(), handle.algorithm, name, ask, ttl_us);
        match self.route(booking.counter.placement) {
            Route::Here => {
                let reply = self.book(limit, &booking, now);
                // One that repeats the first says what that was told, whatever the limit is by now.
                let limit = self.engine.reserved_ceiling(now, booking.reservation).unwrap_or(asked.limit);
                self.answer_resp(Asked { limit, ..asked }, &reply, now, session);
            }
            elsewhere => {
                self.forward_resp(asked, Errand::Reserve(definition, Box::new(booking)), elsewhere, now, session);
            }
        }
    }

    fn settle_resp(&mut self, settle: command::Settle<'_>, now: Timestamp, session: &mut Session) {
        let command::Settle { key, id, actual } = settle;
        let key = raw(key);
        let (number, settle) = (session.replies.upcoming(), Settle { actual, id, key: key.as_ref() });
        let answer = self.settle(number, &settle, now, &mut session.way);
        self.conclude(Asked { verb: Verb::Settle, limit: 0 }, answer, now, session);
    }

    fn acquire_resp(&mut self, acquire: command::Acquire<'_>, now: Timestamp, session: &mut Session) {
        let command::Acquire { key, holder, limit, ttl_us, cost } = acquire;
        let key = raw(key);
        let (number, acquire) =
            (session.replies.upcoming(), Acquire { limit, ttl_us, cost, holder, key: key.as_ref() });
        let answer = self.acquire(number, &acquire, now, &mut session.way);
        self.conclude(Asked { verb: Verb::Acquire, limit }, answer, now, session);
    }

    fn release_resp(&mut self, release: command::Release<'_>, now: Timestamp, session: &mut Session) {
        let key = raw(release.key);
        let (number, release) = (session.replies.upcoming(), Release { holder: release.holder, key: key.as_ref() });
        let answer = self.release(number, &release, now, &mut session.way);
        self.conclude(Asked { verb: Verb::Release, limit: 0 }, answer, now, session);
    }

    fn forget_resp(&mut self, key: &[u8], now: Timestamp, session: &mut Session) {
        if session.pass.is_none_or(|pass| pass.role != Role::Admin) {
            let text = b"-NOPERM TR.RESET: it needs an admin's token\r\n";
            return session.replies.answer(|out| out.extend_from_slice(text));
        }
        let key = raw(key);
        let (number, placement) = (session.replies.upcoming(), self.seeds.placement.place(key.as_ref()).0);
        let errand = Errand::Reset(key.as_ref().to_key());
        let answer = self.run_or_forward(number, placement, errand, now, &mut session.way);
        self.conclude(Asked { verb: Verb::Reset, limit: 0 }, Ok(answer), now, session);
    }

    /// Answers, or leaves a gap for the answer of another shard.
    fn conclude(&mut self, asked: Asked, answer: Answer, now: Timestamp, session: &mut Session) {
        match answer {
            Ok(Some(reply)) => self.answer_resp(asked, &reply, now, session),
            Ok(None) => {
                session.replies.sent();
                session.replies.hold(asked);
            }
            Err(refusal) => self.answer_resp(asked, &refusal.into_reply(), now, session),
        }
    }

    fn hello(&mut self, hello: &Hello<'_>, session: &mut Session) {
        if let Some(token) = hello.token
            && !self.admit(token, session)
        {
            return;
        }
        if session.pass.is_none() {
            let text = b"-NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO \
                         <proto> AUTH <user> <pass> option can be used to authenticate the client and select the RESP \
                         protocol version at the same time\r\n";
            return session.replies.answer(|out| out.extend_from_slice(text));
        }
        session.version = hello.version.unwrap_or(session.version);
        if let Some(name) = hello.name {
            session.name = name.into();
        }
        let (version, id) = (session.version, session.id);
        session.replies.answer(|out| hello::write_answer(out, version, id));
    }

    /// Looks at a token. A wrong one is answered, and leaves the connection what it was.
    fn admit(&mut self, token: &[u8], session: &mut Session) -> bool {
        let pass = std::str::from_utf8(token).ok().and_then(|token| self.tokens.pass_of(token));
        if pass.is_some() {
            session.pass = pass;
            self.residents.show(session.ticket, pass);
            return true;
        }
        self.doors.of(Door::Resp).count(Refusal::Unauthorized);
        session.count_wrong_token();
        let text = b"-WRONGPASS invalid username-password pair or user is disabled.\r\n";
        session.replies.answer(|out| out.extend_from_slice(text));
        false
    }

    /// What somebody comes in by who has shown no token: where none is needed, as an admin.
    pub(super) fn pass_without_token(&self) -> Option<Pass> {
        if self.tokens.open() { self.tokens.pass_of("") } else { None }
    }

    fn facts(&self) -> Facts {
        Facts {
            shard: self.index,
            shards: self.shards(),
            connections: self.residents.len(),
            keys: self.engine.keys(),
            bytes: self.engine.bytes(),
        }
    }
}

fn raw(key: &[u8]) -> RawKey {
    RawKey::new(key).expect("a command's key has been measured")
}

fn about(client: Client<'_>, session: &mut Session) {
    let Session { id, version, .. } = *session;
    let name = session.name.clone();
    let answer = |out: &mut Vec<u8>| match client {
        Client::Id => write::integer(out, id),
        Client::GetName if name.is_empty() => write::null(out, version),
        Client::GetName => write::bulk(out, &name),
        Client::Info => {
            let name = String::from_utf8_lossy(&name);
            let line = format!("id={id} name={name} db=0 resp={}\n", version.number());
            write::bulk(out, line.as_bytes());
        }
        Client::SetName(_) | Client::Noted => write::simple(out, "OK"),
    };
    session.replies.answer(answer);
    if let Client::SetName(name) = client {
        session.name = name.into();
    }
}

fn list(commands: &Commands<'_>, session: &mut Session) {
    let version: Version = session.version;
    session.replies.answer(|out| match commands {
        Commands::All => catalogue::write_all(out),
        Commands::These(names) => catalogue::write_these(names, version, out),
        Commands::Names => catalogue::write_names(out),
        Commands::Count => write::integer(out, catalogue::count() as u64),
        Commands::Docs => write::map(out, version, 0),
    });
}
