//! Compiles the C of the controls with the flags that the grammar's C is compiled with.

fn main() {
    println!("cargo:rerun-if-changed=src/overflow.c");
    cc::Build::new().file("src/overflow.c").compile("overflow");
}
