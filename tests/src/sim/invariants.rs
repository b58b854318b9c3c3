//! What must hold of every simulation, each in a file of its own.

mod acked_rules_survive;
mod clocks_agree;
mod clocks_go_forward;
mod epoch_only_grows;
mod everybody_agrees_in_the_end;
mod nobody_gives_up;
mod nothing_happens_twice;
mod one_leader_a_term;
mod one_ring_an_epoch;

use super::history::History;

/// Says what is broken.
pub type Check = fn(&History) -> Result<(), String>;

/// All of them, with their names.
pub const ALL: &[(&str, Check)] = &[
    ("no node ends by itself", nobody_gives_up::check),
    ("a node's epoch only grows", epoch_only_grows::check),
    ("two nodes never disagree on an epoch's ring", one_ring_an_epoch::check),
    ("rules that were acknowledged survive", acked_rules_survive::check),
    ("a change that was proposed twice happens once", nothing_happens_twice::check),
    ("a term has one leader", one_leader_a_term::check),
    ("a clock never goes back", clocks_go_forward::check),
    ("clocks agree as well as they say", clocks_agree::check),
    ("after the healing everybody agrees again", everybody_agrees_in_the_end::check),
];
