//! The contract of every store, as tests against `&dyn Store`. Each implementation runs all of them with
//! [`contract_tests!`]. Its own tests cover only its specific parts: files, locks, migrations.

pub(super) mod approvals;
pub(super) mod audit;
pub(super) mod background;
pub(super) mod deliveries;
pub(super) mod executions;
pub(crate) mod fixtures;
pub(super) mod hooks;
pub(super) mod lists;
pub(super) mod milestones;
pub(super) mod questions;
pub(super) mod queue;
pub(super) mod races;
pub(super) mod rules;
pub(super) mod servers;
pub(super) mod sessions;
pub(super) mod steps;
pub(super) mod together;

/// Generates one test per function of the contract. `$fresh` is an async function that returns a fixture
/// with an empty store. Its `store()` and `other()` return the stores of two servers on the same database,
/// or the same store if the engine supports only one server. The fixture keeps the resources alive.
macro_rules! contract_tests {
    ($fresh:path) => {
        $crate::contract::contract_tests! { @each $fresh;
            sessions::a_session_reads_back_as_it_was_written,
            sessions::a_session_key_is_idempotent_and_bound_to_its_request,
            sessions::a_session_changes_only_from_its_current_version,
            sessions::a_change_of_mode_or_time_out_is_kept_and_may_be_a_use,
            sessions::a_use_alone_is_no_change,
            sessions::what_a_runner_says_may_hold_any_character,
            sessions::only_open_unused_sessions_without_live_executions_are_idle,
            sessions::live_sessions_are_counted_per_tenant,
            sessions::sessions_that_are_not_over_are_counted_by_state,
            executions::an_execution_reads_back_as_it_was_written,
            executions::every_cause_and_output_state_reads_back,
            executions::the_same_key_and_request_give_the_same_execution,
            executions::a_key_belongs_to_one_tenant_and_principal,
            executions::an_execution_needs_a_session,
            executions::impossible_beginnings_are_refused,
            executions::live_executions_are_counted_per_tenant,
            executions::room_in_a_session_and_in_the_queue_is_counted,
            executions::a_session_made_with_its_execution_is_there_with_it_or_not_at_all,
            executions::a_creation_uses_the_session,
            executions::what_lives_is_found_oldest_first_with_what_is_next_for_it,
            steps::a_life_from_queue_to_end_leaves_its_history,
            steps::a_stale_version_changes_nothing,
            steps::a_missing_execution_is_missing,
            steps::only_the_closed_table_is_taken,
            steps::a_finished_execution_takes_output_and_lease_alone,
            steps::what_is_no_state_leaves_the_version,
            steps::an_offer_raises_the_attempt,
            steps::the_link_is_only_there_on_a_runner,
            steps::a_new_owner_is_a_compare_and_set,
            steps::leases_are_renewed_for_what_lives,
            steps::a_result_moves_the_session_only_where_it_says_so,
            steps::history_is_read_from_any_version,
            background::leaving_the_foreground_is_a_step_in_the_history,
            background::only_what_runs_leaves_the_foreground,
            background::a_result_from_the_background_moves_no_session,
            background::what_begins_in_the_background_keeps_its_place_until_it_runs,
            background::a_budget_ends_with_the_foreground,
            background::a_detach_and_an_end_of_one_version_do_not_both_win,
            milestones::each_milestone_of_a_life_is_told_once_and_in_order,
            milestones::milestones_are_told_by_tenant_and_session,
            milestones::a_reader_that_goes_on_after_the_last_misses_nothing,
            lists::pages_hold_each_execution_once_newest_first,
            lists::pages_stay_stable_under_inserts,
            lists::executions_are_filtered,
            lists::executions_are_filtered_by_state,
            lists::ended_executions_with_output_to_store_are_found,
            lists::outputs_that_are_old_are_found_oldest_first,
            lists::sessions_are_filtered,
            lists::a_tenant_sees_nothing_of_another,
            lists::labels_are_compared_as_they_are,
            lists::forged_tokens_are_refused,
            lists::pages_of_large_rows_end_early,
            lists::page_sizes_are_bounded,
            approvals::an_approval_reads_back_as_it_was_written,
            approvals::an_approval_is_answered_once,
            approvals::an_answer_after_its_time_does_not_count,
            approvals::leaving_the_wait_withdraws_what_is_open,
            approvals::asking_again_withdraws_the_first_question,
            approvals::open_approvals_are_listed_oldest_first,
            approvals::an_answer_is_one_of_three,
            questions::a_question_about_a_connection_is_asked_once,
            questions::questions_are_bounded,
            questions::questions_end_with_their_execution,
            questions::an_answer_about_a_connection_is_in_the_audit,
            hooks::a_start_with_a_key_has_the_same_ids_until_it_is_stored,
            hooks::a_start_beyond_a_limit_is_not_claimed,
            hooks::a_question_is_asked_once_and_its_first_answer_counts,
            hooks::a_question_without_an_answer_in_time_is_not_asked_again,
            rules::rules_count_where_they_were_given,
            rules::a_rule_is_remembered_once_and_no_more_than_there_may_be,
            rules::rules_are_listed_and_removed_by_their_tenant,
            rules::rules_of_a_session_go_with_it,
            audit::an_entry_is_opened_and_closed_with_the_execution,
            audit::a_denial_has_a_closed_entry,
            audit::the_entry_names_who_approved,
            audit::entries_are_consecutive_whatever_fails,
            audit::entries_are_read_from_any_sequence,
            audit::what_is_given_back_has_entries_in_order,
            audit::forwarded_connections_have_entries_in_order,
            audit::connections_have_entries_with_the_end,
            audit::a_changed_network_has_an_entry_with_both_values,
            servers::a_runner_reads_back_as_it_was_put,
            servers::only_the_current_epoch_is_touched,
            servers::a_life_that_was_followed_by_another_never_comes_back,
            servers::runners_are_paged_by_id,
            servers::servers_are_there_with_their_links_until_their_lease_is_over,
            servers::one_server_at_a_time_stores_an_output,
            servers::only_who_has_a_say_says_where_an_output_is,
            servers::outputs_of_a_runner_that_stays_away_are_lost,
            servers::an_output_that_nobody_stores_is_found_by_who_could,
            deliveries::every_hook_that_was_asked_gets_a_result,
            deliveries::a_delivery_is_taken_by_one_server_until_its_lease_expires,
            deliveries::only_the_last_attempt_delays_a_delivery_and_each_finishes_it,
            deliveries::deliveries_of_tenants_take_turns,
            deliveries::old_deliveries_are_removed,
            queue::the_next_of_a_runner_is_whose_tenant_stands_furthest_back,
            queue::only_what_has_its_turn_is_taken,
            queue::what_a_runner_refused_is_taken_again,
            queue::starts_are_paced,
            queue::denials_are_paced,
            queue::output_is_counted_by_the_day,
            queue::a_tenant_s_own_queue_is_limited,
            races::one_of_many_steps_from_a_version_wins,
            races::one_of_many_equal_requests_creates,
            races::many_at_once_do_not_pass_a_limit,
            races::no_step_is_lost_among_many,
            races::a_dropped_call_happened_or_did_not,
            races::an_answer_and_an_end_agree,
        }
        $crate::contract::contract_tests! { @together $fresh;
            together::each_sees_at_once_what_another_wrote,
            together::of_many_that_take_over_a_lease_one_gets_it,
            together::of_many_that_offer_one_starts_it,
            together::of_many_ends_the_first_is_the_truth,
            together::of_many_answers_to_an_approval_one_counts,
            together::what_many_remember_at_once_is_there_once_and_within_its_limit,
            together::one_request_at_many_servers_makes_one_thing,
            together::of_many_that_close_a_session_one_does,
            hooks::of_many_that_ask_a_hook_one_does,
            together::limits_hold_across_servers,
            together::a_tenant_s_own_limits_hold_across_servers,
            together::of_many_that_take_from_the_queue_each_gets_others,
            together::of_many_that_take_deliveries_each_gets_others,
            together::milestones_of_many_servers_are_read_in_their_order,
        }
    };
    (@each $fresh:path; $($module:ident::$name:ident),+ $(,)?) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                let fresh = $fresh().await;
                $crate::contract::$module::$name(fresh.store()).await;
                fresh.store().close().await;
            }
        )+
    };
    (@together $fresh:path; $($module:ident::$name:ident),+ $(,)?) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                let fresh = $fresh().await;
                $crate::contract::$module::$name([fresh.store(), fresh.other()]).await;
                fresh.store().close().await;
                fresh.other().close().await;
            }
        )+
    };
}

pub(crate) use contract_tests;
