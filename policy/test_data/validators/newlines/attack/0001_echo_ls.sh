echo ((
ls