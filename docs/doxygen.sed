# Comments of our headers as Doxygen takes them: before a declaration, or behind one on its line.
1s,^/\* ,/** @file\
 * ,
s,^( *)/\* ,\1/** ,
s,^( *[^ /*].*)/\* ,\1/**< ,
s,(/\*\*< )&,\1\\\&,
