ls >\
 f