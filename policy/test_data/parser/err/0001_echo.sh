echo ((
