time { rm x; }
