//! Compiles the C code of the controls with the same flags as the grammar's C code.

fn main() {
    println!("cargo:rerun-if-changed=src/overflow.c");
    cc::Build::new().file("src/overflow.c").compile("overflow");
}
