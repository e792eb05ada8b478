//! Property 1: generated commands, run by real bash; every program started must have been predicted.
