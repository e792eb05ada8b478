cp file{,~} ~/d/{a,b}
