f() { a; }; function g { b; }
