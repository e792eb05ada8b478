f( { rm x; }
