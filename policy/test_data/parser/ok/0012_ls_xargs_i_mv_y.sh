ls | xargs -I{} mv {} y{}
