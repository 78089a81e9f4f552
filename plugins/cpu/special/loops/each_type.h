/* each_type.h -- includes the file that the macro SF_SOURCE names once for float and once for
 * double.  SF_T is the type; SF(name) and SF_F(name) are the names of the plugin's and of the C
 * library's functions for it. */
#define SF_T       float
#define SF(name)   name##_f32
#define SF_F(name) name##f
#include SF_SOURCE
#undef SF_T
#undef SF
#undef SF_F
#define SF_T       double
#define SF(name)   name##_f64
#define SF_F(name) name
#include SF_SOURCE
#undef SF_T
#undef SF
#undef SF_F
#undef SF_SOURCE
