//! Builds the images of server, runner and client for the tests that run them, so that no test waits for this. A call
//! does nothing if the images are up to date.

use airlock_tests::images::Images;

fn main() {
    drop(Images::build());
}
