case x in
ls