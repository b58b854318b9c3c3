//! Nodes with bad clocks on a virtual true time, which no node knows.

use std::ops::Range;

use proptest::prelude::*;

use super::*;
use crate::sys::clock::Line;

const SECOND: u64 = 1_000_000;
const MINUTE: u64 = 60 * SECOND;
const DAY: u64 = 86_400 * SECOND;

/// How often a lease is renewed, and the time asked for.
const RENEWED_EVERY_US: u64 = 60_000;

/// When every world begins: a node has been up for a while, and the year is 2027.
const BOOTED_US: u64 = 1_000 * SECOND;
const YEAR_2027_US: u64 = 1_800_000_000 * SECOND;

/// A machine: how its clock counts true time, and when it stands still (a virtual machine does, while it is moved).
#[derive(Clone, Debug)]
struct Machine {
    wrong_ppm: i64,
    stands: Range<u64>,
}

impl Machine {
    fn wrong_by(wrong_ppm: i64) -> Machine {
        Machine { wrong_ppm, stands: 0..0 }
    }

    fn boot_us(&self, true_us: u64) -> u64 {
        let stood = true_us.clamp(self.stands.start, self.stands.end) - self.stands.start;
        let ran = i128::from(true_us - stood);
        BOOTED_US + u64::try_from(ran + ran * i128::from(self.wrong_ppm) / 1_000_000).unwrap()
    }
}

/// A machine's clock, steered.
struct Node {
    machine: Machine,
    steering: Steering,
}

impl Node {
    /// A node whose clock is off by so much when the world begins.
    fn off_by(machine: Machine, off_us: i64) -> Node {
        let shown = YEAR_2027_US.checked_add_signed(off_us).unwrap();
        Node { machine, steering: Steering::new(Line::new(BOOTED_US, shown)) }
    }

    fn shows(&self, true_us: u64) -> u64 {
        self.steering.line().at(self.machine.boot_us(true_us))
    }

    fn ask(&self, leader: &Node, true_us: u64, there_us: u64, back_us: u64) -> Option<Sample> {
        let asked = self.machine.boot_us(true_us);
        let answered = self.machine.boot_us(true_us + there_us + back_us);
        Sample::new(asked, answered, leader.shows(true_us + there_us))
    }

    /// Asks the leader and follows what it says; true time when the answer has come.
    fn renew(&mut self, term: u64, leader: &Node, true_us: u64, there_us: u64, back_us: u64) -> u64 {
        if let Some(sample) = self.ask(leader, true_us, there_us, back_us) {
            self.steering.follow(term, sample);
        }
        true_us + there_us + back_us
    }
}

fn apart_us(one: &Node, other: &Node, true_us: u64) -> u64 {
    one.shows(true_us).abs_diff(other.shows(true_us))
}

/// The ways there and back that an answer takes, one after the other, in microseconds.
fn ways(us_max: u64) -> impl Strategy<Value = Vec<(u64, u64)>> {
    prop::collection::vec((1..=us_max, 1..=us_max), 16)
}

/// What two clocks may differ by when the longest way is `way_us`.
fn skew_us_max(way_us: u64) -> u64 {
    4 * way_us + 1_000
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_follower_agrees_with_its_leader_however_wrong_both_clocks_run(
        leader_ppm in -5_000..=5_000i64,
        follower_ppm in -5_000..=5_000i64,
        wall_is_ahead_us in -3_600_000_000..=3_600_000_000i64,
        ways in ways(1_000),
    ) {
        let mut leader = Node::off_by(Machine::wrong_by(leader_ppm), 0);
        let mut follower = Node::off_by(Machine::wrong_by(follower_ppm), 0);
        let first = follower.ask(&leader, 0, 1, 1).unwrap();
        follower.steering.begin(1, first);
        let (mut now, mut before) = (0, 0);
        let mut ways = ways.into_iter().cycle();
        while now < 3 * MINUTE {
            let wall = YEAR_2027_US.checked_add_signed(wall_is_ahead_us).unwrap() + now;
            leader.steering.lead(leader.machine.boot_us(now), wall);
            let (there, back) = ways.next().unwrap();
            let answered = follower.renew(1, &leader, now, there, back);
            now += RENEWED_EVERY_US;
            for at in [answered, now] {
                prop_assert!(apart_us(&leader, &follower, at) <= skew_us_max(1_000), "{} us apart at {at}", apart_us(&leader, &follower, at));
                prop_assert!(follower.shows(at) >= before, "went back at {at}");
                before = follower.shows(at);
            }
        }
        prop_assert_eq!(follower.steering.deviation().steps, 0);
    }

    /// Whatever a leader says, also nonsense, a clock goes forward.
    #[test]
    fn a_clock_never_goes_back(answers in prop::collection::vec((0..3u64, 0..ROUND_TRIP_US_MAX, any::<u64>()), 1..50)) {
        let mut steering = Steering::new(Line::new(0, YEAR_2027_US));
        let (mut boot_us, mut before) = (0, YEAR_2027_US);
        for (term, round_trip_us, leader_us) in answers {
            boot_us += round_trip_us;
            let leader_us = leader_us % (2 * YEAR_2027_US);
            steering.follow(term, Sample::new(boot_us - round_trip_us, boot_us, leader_us).unwrap());
            for _ in 0..20 {
                prop_assert!(steering.line().at(boot_us) >= before);
                before = steering.line().at(boot_us);
                boot_us += 1;
            }
        }
    }
}

/// A leader whose wall clock is right, and a follower that has asked it from the beginning.
struct Pair {
    leader: Node,
    follower: Node,
    now: u64,
}

/// The longest way between the two, in microseconds.
const WAY_US: u64 = 300;

impl Pair {
    fn new(leader: Machine, follower: Machine) -> Pair {
        let (leader, mut follower) = (Node::off_by(leader, 0), Node::off_by(follower, 0));
        let first = follower.ask(&leader, 0, 1, 1).unwrap();
        follower.steering.begin(1, first);
        Pair { leader, follower, now: 0 }
    }

    /// Lets time pass, with a renewal every so often.
    fn run(&mut self, until: u64, every_us: u64) {
        while self.now < until {
            self.leader.steering.lead(self.leader.machine.boot_us(self.now), YEAR_2027_US + self.now);
            let there = 1 + self.now / every_us % WAY_US;
            self.follower.renew(1, &self.leader, self.now, there, WAY_US - there / 2);
            self.now += every_us;
        }
    }

    fn apart_us(&self) -> u64 {
        apart_us(&self.leader, &self.follower, self.now)
    }

    fn pace_ppm(&self) -> i64 {
        self.follower.steering.line().pace().to_ppm()
    }
}

#[test]
fn months_of_uptime_change_nothing() {
    let mut pair = Pair::new(Machine::wrong_by(40), Machine::wrong_by(-80));
    for day in 1..=180 {
        pair.run(day * DAY, 30 * SECOND);
        assert!(pair.apart_us() <= skew_us_max(WAY_US), "{} us apart after {day} days", pair.apart_us());
    }
    assert!((70..=90).contains(&pair.pace_ppm()), "{} ppm", pair.pace_ppm());
}

#[test]
fn all_nodes_agree_which_window_it_is() {
    let mut pair = Pair::new(Machine::wrong_by(3_000), Machine::wrong_by(-4_000));
    let mut differ = 0;
    for ms in 0..60_000 {
        pair.run(ms * 1_000, RENEWED_EVERY_US);
        let at = ms * 1_000;
        let windows = [&pair.leader, &pair.follower].map(|node| node.shows(at) / SECOND);
        differ += u64::from(windows[0] != windows[1]);
    }
    let beside_the_boundaries = 60 * skew_us_max(WAY_US) / 1_000;
    assert!(differ <= beside_the_boundaries, "{differ} of 60,000 instants");
}

#[test]
fn a_suspended_follower_still_knows_the_time() {
    // Suspend counts as time since boot: the clock has only not been compared meanwhile.
    let mut pair = Pair::new(Machine::wrong_by(0), Machine::wrong_by(2_000));
    pair.run(5 * MINUTE, RENEWED_EVERY_US);
    let woken_at = pair.now + 60 * MINUTE;
    let off_us = apart_us(&pair.leader, &pair.follower, woken_at);
    assert!(off_us < 200_000, "{off_us} us off after an hour");
    pair.now = woken_at;
    pair.run(woken_at + 10 * MINUTE, RENEWED_EVERY_US);
    assert!(pair.apart_us() <= skew_us_max(WAY_US), "{} us apart", pair.apart_us());
    assert_eq!(pair.follower.steering.deviation().steps, 0);
}

#[test]
fn a_follower_that_stood_still_goes_forward_at_once_and_keeps_its_pace() {
    let stands = 2 * MINUTE..2 * MINUTE + 10 * SECOND;
    let mut pair = Pair::new(Machine::wrong_by(0), Machine { wrong_ppm: 100, stands });
    pair.run(2 * MINUTE, RENEWED_EVERY_US);
    pair.now += 10 * SECOND;
    for _ in 0..600 {
        pair.run(pair.now + SECOND, RENEWED_EVERY_US);
        assert!(pair.apart_us() <= skew_us_max(WAY_US), "{} us apart", pair.apart_us());
        assert!((-130..=-70).contains(&pair.pace_ppm()), "{} ppm", pair.pace_ppm());
    }
    assert_eq!(pair.follower.steering.deviation().steps, 1);
}

#[test]
fn a_short_standstill_is_slewed_away_and_not_taken_for_a_pace() {
    let stands = 2 * MINUTE..2 * MINUTE + 100_000;
    let mut pair = Pair::new(Machine::wrong_by(0), Machine { wrong_ppm: 100, stands });
    pair.run(2 * MINUTE, RENEWED_EVERY_US);
    pair.now += 100_000;
    pair.run(pair.now + SECOND, RENEWED_EVERY_US);
    assert!((98_000..=100_500).contains(&pair.apart_us()), "{} us apart", pair.apart_us());
    for _ in 0..600 {
        pair.run(pair.now + SECOND, RENEWED_EVERY_US);
        assert!((-130..=-70).contains(&pair.pace_ppm()), "{} ppm", pair.pace_ppm());
    }
    assert!(pair.apart_us() <= skew_us_max(WAY_US), "{} us apart", pair.apart_us());
    assert_eq!(pair.follower.steering.deviation().steps, 0);
}

#[test]
fn a_follower_that_is_ahead_slews_and_says_so() {
    let mut pair = Pair::new(Machine::wrong_by(0), Machine::wrong_by(0));
    pair.follower = Node::off_by(Machine::wrong_by(0), 10_000_000);
    pair.run(100 * SECOND, RENEWED_EVERY_US);
    let behind_us = pair.follower.steering.deviation().behind_us;
    assert!((-9_960_000..=-9_940_000).contains(&behind_us), "{behind_us}");
    assert_eq!((pair.pace_ppm(), pair.follower.steering.deviation().steps), (0, 0));
}

#[test]
fn another_leader_is_followed_without_a_jump() {
    let mut first = Pair::new(Machine::wrong_by(0), Machine::wrong_by(1_000));
    let mut second = Pair::new(Machine::wrong_by(0), Machine::wrong_by(-1_000));
    first.run(2 * MINUTE, RENEWED_EVERY_US);
    second.run(2 * MINUTE, RENEWED_EVERY_US);
    let (mut leader, mut follower) = (first.follower, second.follower);
    for now in (2 * MINUTE..4 * MINUTE).step_by(RENEWED_EVERY_US as usize) {
        leader.steering.lead(leader.machine.boot_us(now), YEAR_2027_US + now);
        follower.renew(2, &leader, now, 100, 200);
        let apart_us = apart_us(&leader, &follower, now + 300);
        assert!(apart_us <= 2 * skew_us_max(WAY_US), "{apart_us} us apart");
    }
    assert_eq!(follower.steering.deviation().steps, 0);
}

/// The leader's clock after a step of the wall clock: what it gains an hour, and when it has arrived.
fn check_step_of_wall_time(step_us: i64, gains_an_hour_us: std::ops::RangeInclusive<i64>) {
    let mut leader = Node::off_by(Machine::wrong_by(0), 0);
    let wall_us = |now: u64| (YEAR_2027_US + now).checked_add_signed(step_us).unwrap();
    let gained_us = |leader: &Node, now: u64| leader.shows(now) as i64 - (YEAR_2027_US + now) as i64;
    let mut before_us = 0;
    for hour in 0..24 {
        (0..3_600)
            .map(|s| (hour * 3_600 + s) * SECOND)
            .for_each(|now| leader.steering.lead(BOOTED_US + now, wall_us(now)));
        let now_us = gained_us(&leader, (hour + 1) * 3_600 * SECOND);
        assert!(gains_an_hour_us.contains(&(now_us - before_us)), "{} us in an hour", now_us - before_us);
        before_us = now_us;
    }
    let arrived = DAY + step_us.unsigned_abs() * 2_001;
    assert_eq!(gained_us(&leader, arrived), step_us);
}

#[test]
fn a_leader_follows_a_step_of_wall_time_by_1800_milliseconds_an_hour() {
    check_step_of_wall_time(3_600_000_000, 1_799_990..=1_800_000);
    check_step_of_wall_time(-3_600_000_000, -1_800_001..=-1_799_990);
}

#[cfg(not(feature = "sim"))]
#[test]
fn a_keeper_steers_every_clone_of_the_clock_but_leaves_one_alone_that_is_set_by_hand() {
    use std::sync::atomic::{AtomicU64, Ordering};
    let hand: &'static AtomicU64 = Box::leak(Box::new(AtomicU64::new(5_000)));
    let clock = Clock::set_by_hand(hand);
    let keeper = Timekeeper::new(clock.clone());
    keeper.lead();
    assert_eq!(clock.now_us(), 5_000);
    keeper.begin(1, Sample::new(5_000, 5_000, 70_000).unwrap());
    hand.store(6_000, Ordering::Release);
    assert_eq!((clock.now_us(), keeper.clock().boot_us()), (71_000, 6_000));
    keeper.follow(1, Sample::new(6_000, 6_000, 71_900).unwrap());
    assert_eq!(keeper.deviation(), Deviation { behind_us: 900, within_us: 0, steps: 0 });
    hand.store(6_000 + 2_000_000, Ordering::Release);
    assert_eq!(clock.now_us(), 71_000 + 2_000_000 + 900);
}
