//! What mostly waits, at the same time: one after the other it would take minutes.

use cluster_tests::harness::ControlPlane;

use crate::{expired, missed, revoked, rotated, silent};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_takes_its_time_to_be_noticed_or_to_pass() {
    let Some(control_plane) = ControlPlane::shared().await else { return };
    tokio::join!(
        rotated::a_token_that_was_replaced_is_used_and_the_old_one_no_more(control_plane),
        revoked::what_is_taken_away_is_named_and_missed_only_until_it_is_back(control_plane),
        missed::a_connection_that_stalls_silently_delays_the_clean_up_and_no_more(control_plane),
        silent::watches_that_say_nothing_are_made_up_for_by_the_scan(control_plane),
        expired::a_version_that_is_always_too_old_makes_no_busy_loop(control_plane),
    );
}
